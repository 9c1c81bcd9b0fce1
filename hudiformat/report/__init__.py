"""The report about a table: what it is, what is wrong with it and what to do next, as one page of HTML."""

from hudiformat.report.advice import is_damaged
from hudiformat.report.facts import TableFacts
from hudiformat.report.gathering import gather
from hudiformat.report.page import page_of
from hudiformat.report.writing import TableReport, report_table, write_page

__all__ = ["TableFacts", "TableReport", "gather", "is_damaged", "page_of", "report_table", "write_page"]
