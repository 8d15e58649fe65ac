"""The report in a real browser: what a reader sees, with the keyboard, on a phone, in the dark and on paper."""

import csv
import dataclasses
import shutil
import time

import pytest
from report_page import HOSTILE, report, wine

import noap

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from selenium.common.exceptions import WebDriverException  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (BROWSER and DRIVER), reason="no browser: install chromium and chromium-driver to run these tests"
)


@pytest.fixture(scope="module")
def made():
    return report()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("browser")


@pytest.fixture(scope="module")
def driver(folder):
    options = webdriver.ChromeOptions()
    # No sandbox: in containers the suite often runs as root, where Chromium has none.
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    options.binary_location = BROWSER
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.add_experimental_option("prefs", {"download.default_directory": str(folder)})
    try:
        browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    except WebDriverException as error:
        pytest.skip(f"the browser does not start here: {str(error.msg).splitlines()[0]}")
    yield browser
    browser.quit()


@pytest.fixture
def page(driver, made, folder):
    file = folder / "report.html"
    if not file.exists():
        made.save(file)
    look(driver)
    driver.get(file.as_uri())
    return driver


def look(driver, width=1200, dark=False, paper=False):
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print" if paper else "", "features": [scheme]})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


MINUS = "\N{MINUS SIGN}"


def numbers(driver, section):
    return [cell.text for cell in driver.find_elements(By.CSS_SELECTOR, f"#{section} .number")]


def test_it_loads_without_errors_and_without_the_network(page):
    assert page.get_log("browser") == []
    assert page.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert page.execute_script("return window.broken") is None


def test_names_are_shown_as_they_are(page):
    shown = [cell.get_attribute("textContent") for cell in page.find_elements(By.CSS_SELECTOR, "#barcode .name")]
    for name in set(HOSTILE) & set(wine().columns):
        assert name in shown
    assert page.title == "Which features survive noise: <i>wine</i> & more"


def test_the_slider_starts_at_the_noise_of_the_table(page, made):
    assert page.find_element(By.ID, "noise-now").text == "0.5"
    first = made.components[0]
    loadings = [float(text.replace(MINUS, "-")) for text in numbers(page, "loadings") if text]
    assert sorted(loadings) == pytest.approx(sorted(first.loadings), abs=2e-3)


def test_the_slider_works_by_keyboard(page, made):
    slider = page.find_element(By.ID, "noise")
    slider.send_keys(Keys.HOME)
    assert page.switch_to.active_element == slider
    assert page.find_element(By.ID, "noise-now").text == "0"
    unattacked, attacked, _ = numbers(page, "variances")
    assert float(unattacked) == pytest.approx(float(attacked), rel=2e-3)
    before = numbers(page, "loadings")
    for _ in range(60):
        slider.send_keys(Keys.ARROW_RIGHT)
    frame = made.frames[60]
    assert float(page.find_element(By.ID, "noise-now").text) == pytest.approx(frame.noise, rel=1e-2)
    assert slider.get_attribute("aria-valuetext").startswith("noise ")
    assert numbers(page, "loadings") != before
    assert float(numbers(page, "variances")[1]) == pytest.approx(frame.left, rel=1e-3)
    assert float(numbers(page, "variances")[0]) == pytest.approx(frame.plain, rel=1e-3)
    slider.send_keys(Keys.END)
    assert "nothing survives" in page.find_element(By.ID, "attack-words").text
    assert not any(numbers(page, "loadings"))


def test_the_cursor_runs_through_barcode_and_curve(page):
    def place():
        return page.execute_script("return getComputedStyle(document.querySelector('.plot'), '::after').left")

    start = place()
    page.find_element(By.ID, "noise").send_keys(Keys.END)
    assert place() != start


def test_bars_are_as_long_as_their_numbers(page):
    time.sleep(0.3)  # the bars may still be on their way
    width = page.execute_script(
        "return [...document.querySelectorAll('#loadings .rows li')].map("
        "row => [row.querySelector('i').getBoundingClientRect().width /"
        " row.querySelector('.track').getBoundingClientRect().width, row.querySelector('.number').textContent])"
    )
    loadings = [abs(float(text.replace(MINUS, "-") or 0)) for _, text in width]
    for (share, _), loading in zip(width, loadings, strict=True):
        assert share == pytest.approx(loading / max(loadings) / 2, abs=0.01)
    assert f"the longest bar is {max(loadings):.3f}" in page.find_element(By.ID, "loadings-note").text


@pytest.mark.parametrize("width", [320, 375, 768, 1200])
def test_it_fits_the_screen(page, width):
    look(page, width)
    wide, screen = page.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
    assert wide <= screen
    smallest = page.execute_script(
        "return Math.min(...[...document.querySelectorAll('main *')].filter(e => e.textContent.trim() "
        "&& !e.closest('svg')).map(e => parseFloat(getComputedStyle(e).fontSize)))"
    )
    assert smallest >= 11


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_many_sets_fit_the_screen(driver, made, folder, width):
    near = noap.near_optimal(made.k_path.problem.with_sparsity(4).with_adversary(noap.NoAdversary()), 0.3)
    assert len(near) > 12
    file = folder / "sets.html"
    dataclasses.replace(made, near=near).save(file, force=True)
    look(driver, width)
    driver.get(file.as_uri())
    wide, screen = driver.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
    assert wide <= screen
    # Marks lie within their tracks, and the numbers under the first and last column within the section.
    inside = driver.execute_script(
        "const box = (e) => e.getBoundingClientRect(), section = box(document.querySelector('#near'));"
        "return [...document.querySelectorAll('#near .track i')].every((i) => box(i).left >= box(i.parentElement).left"
        " && box(i).right <= box(i.parentElement).right + 0.5)"
        " && [...document.querySelectorAll('#near .axis div span')].every((e) => box(e).left >= section.left"
        " && box(e).right <= section.right)"
    )
    assert inside


CONTRAST = """
const light = (c) => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map((x) => x / 255)
  .map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const behind = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
  if (c !== "rgba(0, 0, 0, 0)") return c; } return "rgb(255, 255, 255)"; };
const texts = "p, h1, h2, h3, dt, dd, td, th, a, .name, .number, .badge, small, b, output, label";
return Math.min(...[...document.querySelectorAll(texts)]
  .filter((e) => e.textContent.trim() && e.offsetParent !== null)
  .map((e) => { const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05); }));
"""


@pytest.mark.parametrize("dark", [False, True])
def test_text_can_be_read_in_the_light_and_in_the_dark(page, dark):
    look(page, dark=dark)
    paper = page.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") is not dark
    # 4.5 to 1 is what WCAG AA asks of small text.
    assert page.execute_script(CONTRAST) >= 4.5


def test_on_paper_there_are_no_controls_and_the_paper_is_white(page):
    look(page, dark=True, paper=True)
    assert not page.find_element(By.ID, "noise").is_displayed()
    assert not page.find_element(By.CSS_SELECTOR, ".downloads").is_displayed()
    assert page.find_element(By.CSS_SELECTOR, "#components table").is_displayed()
    assert page.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_the_table_downloads_as_csv(page, made, folder):
    page.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
    page.find_element(By.CSS_SELECTOR, "a[download='components.csv']").click()
    file = folder / "components.csv"
    for _ in range(100):
        if file.exists() and file.stat().st_size:
            break
        time.sleep(0.1)
    with file.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert [row["feature"] for row in rows if row["component"] == "1"] == list(made.components[0].features)
    assert float(rows[0]["value"]) == made.components[0].result.value


def test_every_control_can_be_reached_and_is_named(page):
    reached = []
    for _ in range(3):
        webdriver.ActionChains(page).send_keys(Keys.TAB).perform()
        reached.append(page.switch_to.active_element)
    assert [element.tag_name for element in reached] == ["input", "a", "a"]
    assert page.find_element(By.CSS_SELECTOR, "label[for=noise]").text.startswith("Noise")
