"""Write one page that shows which features survive noise: self-contained HTML that works offline."""

from noap.report.content import Report, build_report

__all__ = ["Report", "build_report"]
