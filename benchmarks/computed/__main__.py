"""Write the computed blocks of all pages anew."""

from benchmarks.computed import PAGES, ROOT, rewritten

for page in PAGES:
    place = ROOT / page
    text = place.read_text(encoding="utf-8")
    new = rewritten(page, text)
    if new != text:
        place.write_text(new, encoding="utf-8")
        print(f"{page} has changed")
