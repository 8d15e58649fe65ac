// Moves the charts when the slider moves. All numbers were computed before; names are never read here.
(() => {
  "use strict";
  const { k, frames } = JSON.parse(document.getElementById("data").textContent);
  const slider = document.getElementById("noise");
  const rows = (id) => [...document.querySelectorAll(`#${id} .rows > li, #${id}.rows > li`)];
  const write = (row, text) => { row.querySelector(".number").textContent = text; };
  const loadings = rows("loadings"), variances = rows("variances"), scores = rows("scores");
  const most = Math.max(...frames.map((frame) => Math.max(...frame.bars))) || 1;
  const widest = Math.max(...frames.map((frame) => Math.max(...frame.before.map(Math.abs)))) || 1;

  // A bar from a to b on a track whose middle is 0 and whose ends are -1 and 1.
  const span = (bar, a, b) => {
    bar.style.left = `${50 + 50 * a}%`;
    bar.style.width = `${50 * (b - a)}%`;
  };
  const signed = (number) => (number === 0 ? "" : (number > 0 ? "+" : "−") + Math.abs(number).toFixed(3));

  const show = () => {
    const frame = frames[Number(slider.value)];
    document.documentElement.style.setProperty("--at", `${frame.at}%`);
    for (const place of [...document.querySelectorAll(".now"), document.getElementById("noise-now")]) {
      place.textContent = frame.noise;
    }
    slider.setAttribute("aria-valuetext", `noise ${frame.noise}`);
    const largest = Math.max(...frame.loadings.map(Math.abs)) || 1;
    loadings.forEach((row, i) => {
      const loading = frame.loadings[i], bar = row.querySelector("i");
      span(bar, Math.min(loading, 0) / largest, Math.max(loading, 0) / largest);
      bar.className = loading < 0 ? "negative" : "";
      row.classList.toggle("absent", loading === 0);
      write(row, signed(loading));
    });
    document.getElementById("loadings-note").textContent = frame.unseen
      ? `${frame.unseen} more features of this component are not shown.`
      : `Right of the middle is positive, left is negative; the longest bar is ${largest.toFixed(3)}.`;
    [frame.plain, frame.left, frame.ordinary].forEach((text, i) => {
      const bar = variances[i].querySelector("i");
      bar.style.left = "0";
      bar.style.width = `${(100 * frame.bars[i]) / most}%`;
      write(variances[i], text);
    });
    [frame.before, frame.after].forEach((marks, i) => {
      const [outer, inner] = scores[i].querySelectorAll("i");
      span(outer, marks[0] / widest, marks[4] / widest);
      span(inner, marks[1] / widest, marks[3] / widest);
    });
    const lost = frame.bars[0] > 0 ? Math.round(100 * (1 - frame.bars[1] / frame.bars[0])) : 100;
    document.getElementById("attack-words").textContent = frame.bars[1] > 0
      ? `It takes ${lost} % of the component's variance: ${frame.plain} becomes ${frame.left}.` +
        (frame.bound === "none" ? " Nothing is proved here." : ` No component of at most ${k} features keeps more than ${frame.bound}.`)
      : "It erases every component: nothing survives this noise.";
  };
  slider.addEventListener("input", show);
  show();
})();
