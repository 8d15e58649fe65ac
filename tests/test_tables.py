"""Tables as people have them: what is read, what is found out, and what an error names."""

import gzip
import re
import sys
import warnings
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noap
import noap.report
from noap.data.files.reading import Reading
from noap.data.files.table import read_table
from noap.data.streams import summarise
from noap.errors import IdentifierWarning, InvalidProblem, NoapWarning

ROWS = [[1.5, 20.0, -0.25], [2.5, 1e-3, 4.0], [3.0, 7.0, 1250.5]]
NAMES = ("a", "b c", "d")


def written(folder, text, name="data.csv", encoding="utf-8"):
    path = folder / name
    raw = text.encode(encoding)
    path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return path


def lines(separator=",", decimal=".", names=NAMES, rows=ROWS):
    table = [[f"{x:g}".replace(".", decimal) for x in row] for row in rows]
    return "\n".join(separator.join(row) for row in ([list(names)] if names else []) + table) + "\n"


def check(table, names=NAMES, rows=ROWS):
    assert table.names == tuple(names)
    np.testing.assert_array_equal(table.X, np.array(rows))


@pytest.mark.parametrize("name", ["data.csv", "data.txt", "data.csv.gz", "DATA.CSV"])
@pytest.mark.parametrize(
    ("separator", "decimal"), [(",", "."), (";", "."), (";", ","), ("\t", "."), ("\t", ","), ("|", ".")]
)
def test_separator_and_decimal_mark_are_found(tmp_path, name, separator, decimal):
    path = written(tmp_path, lines(separator, decimal), name)
    check(read_table(path))
    found = summarise(path)
    assert found.names == NAMES
    np.testing.assert_allclose(found.moments.mean, np.mean(ROWS, axis=0), rtol=1e-14)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.lists(st.floats(-1e6, 1e6, width=32), min_size=3, max_size=3), min_size=3, max_size=30),
    separator=st.sampled_from(";\t|"),
    decimal=st.sampled_from(".,"),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_any_numbers_come_back(tmp_path_factory, rows, separator, decimal, end):
    cells = [[repr(x).replace(".", decimal) for x in row] for row in rows]
    text = end.join(separator.join(row) for row in [["p", "q", "r"], *cells]) + end
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoapWarning)  # a column that counts
        table = read_table(written(tmp_path_factory.mktemp("t"), text))
    np.testing.assert_array_equal(table.X, np.array(rows))


def test_what_is_asked_wins_over_what_is_found(tmp_path):
    path = written(tmp_path, "a:b\n1:2\n3:5\n")
    check(read_table(path, Reading(delimiter=":")), ("a", "b"), [[1, 2], [3, 5]])
    path = written(tmp_path, "a b\n1 2\n3 5\n")
    check(read_table(path, Reading(delimiter="space")), ("a", "b"), [[1, 2], [3, 5]])
    # Nothing in the file says that a comma is decimal here, only the user.
    path = written(tmp_path, "a;b\n1,5;2.5\n3;5\n")
    with pytest.raises(InvalidProblem, match=r"column 'a' holds text, not numbers: '1,5' on line 2.*--decimal ,"):
        read_table(path)
    with pytest.raises(InvalidProblem, match=r"column 'b' holds text, not numbers: '2\.5' on line 2"):
        read_table(path, Reading(decimal=","))
    path = written(tmp_path, "a\n1,5\n2\n")
    check(read_table(path, Reading(decimal=",")), ("a",), [[1.5], [2]])
    with pytest.raises(InvalidProblem, match="line 2 has 2 entries, the first line has 1"):
        read_table(path)
    # Beside decimal commas a point separates thousands: 1.234 is no small number.
    path = written(tmp_path, "a;b\n1,5;2\n3;4\n" + "1,5;2\n" * 300 + "2;1.234\n")
    for read in (read_table, summarise):
        with pytest.raises(InvalidProblem, match=r"column 'b' holds text, not numbers: '1\.234' on line 304"):
            read(path)


@pytest.mark.parametrize(
    ("reading", "words"),
    [({"delimiter": "::"}, "--delimiter must be"), ({"delimiter": "a"}, "--delimiter must be"),
     ({"decimal": "-"}, "--decimal must be"), ({"delimiter": ",", "decimal": ","}, "cannot both")],
)  # fmt: skip
def test_nonsense_about_the_file_is_refused(reading, words):
    with pytest.raises(InvalidProblem, match=words):
        Reading(**reading)


def test_blanks_quotes_truth_values_and_empty_lines(tmp_path):
    path = written(tmp_path, '"a", b ,flag\n\n 1.5,"2",TRUE\n\n2.5, 3 ,false\n"3.5",+4,True\n\n')
    check(read_table(path), ("a", "b", "flag"), [[1.5, 2, 1], [2.5, 3, 0], [3.5, 4, 1]])


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_encodings_with_a_mark(tmp_path, encoding):
    check(read_table(written(tmp_path, lines(";", ",", ("größe", "b", "d")), encoding=encoding)), ("größe", "b", "d"))


def test_windows_text_is_read_with_a_warning(tmp_path):
    path = written(tmp_path, lines(";", ",", ("größe", "b", "d")), encoding="cp1252")
    with pytest.warns(NoapWarning, match="Windows-1252"):
        check(read_table(path), ("größe", "b", "d"))


def test_a_file_without_names(tmp_path):
    path = written(tmp_path, lines(names=None))
    check(read_table(path, Reading(header=False)), ("x0", "x1", "x2"))
    with pytest.warns(NoapWarning, match="first line holds numbers.*--no-header"):
        assert len(read_table(path).X) == 2
    assert len(read_table(path, Reading(header=True)).X) == 2  # wavelengths, years: said so, no warning


def test_repeated_and_missing_names(tmp_path):
    with pytest.warns(NoapWarning, match=r"repeat, the later ones are called 'a\.1', 'a\.2'"):
        table = read_table(written(tmp_path, "a,a,b,a\n1,2,4,3\n4,5,7,9\n"))
    assert table.names == ("a", "a.1", "b", "a.2")
    table = read_table(written(tmp_path, "a,,b\n1,2,4\n4,5,7\n"))
    assert table.names == ("a", "column 2", "b")
    # A separator at the end of every line is no column.
    check(read_table(written(tmp_path, "a,b,\n1,2,\n4,5,\n")), ("a", "b"), [[1, 2], [4, 5]])


def test_row_numbers_and_labels_are_no_features(tmp_path):
    for first in ("0123", "1234", ("ada", "bob", "cyd", "dan")):
        text = ",a,b\n" + "".join(f"{label},{i * i},{i}.5\n" for i, label in enumerate(first))
        with pytest.warns(NoapWarning, match="looks like row numbers or labels and is left out"):
            assert read_table(written(tmp_path, text)).names == ("a", "b")
    text = "id,a,b\n1,4,7\n2,1,2\n3,1,0\n"
    with pytest.warns(NoapWarning, match="looks like row numbers and is used.*--index id"):
        assert read_table(written(tmp_path, text)).names == ("id", "a", "b")
    path = written(tmp_path, text)
    assert read_table(path, Reading(index="id")).names == ("a", "b")
    assert read_table(path, Reading(columns=("id,a",))).names == ("id", "a")  # asked for by name


@pytest.mark.parametrize("place", [0, 1])
def test_an_identifier_is_noticed_whatever_its_name(tmp_path, place):
    def text(ids):
        rows = [[f"{i * i % 7}.5", f"{i % 3}"] for i in range(8)]
        for row, number in zip(rows, ids, strict=True):
            row.insert(place, str(number))
        names = ["a", "b"]
        names.insert(place, "patient no")
        return "\n".join(",".join(row) for row in [names, *rows]) + "\n"

    path = written(tmp_path, text(range(842000, 842016, 2)))
    with pytest.warns(IdentifierWarning, match="'patient no' looks like an identifier.*--index 'patient no'") as caught:
        assert "patient no" in read_table(path).names
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_table(path, Reading(index="patient no")).names == ("a", "b")
        assert read_table(path, Reading(drop=("patient no",))).names == ("a", "b")
        assert len(read_table(path, Reading(columns=("patient no,a",))).names) == 2  # asked for by name
        # Not whole, not rising, or one that repeats: a measurement.
        for ids in ([0.5 * i for i in range(8)], [3, 1, 2, 4, 5, 6, 7, 8], [1, 2, 3, 4, 4, 5, 6, 7]):
            read_table(written(tmp_path, text(ids)))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_an_identifier_is_noticed_in_frames(frame):
    rng = np.random.default_rng(0)
    data = {"a": rng.standard_normal(12), "who": np.arange(842000, 842012), "b": rng.standard_normal(12)}
    for use in (
        noap.standardize,
        lambda X: noap.RobustSparsePCA(k=1, method="ascent", scale=True).fit(X),
        lambda X: noap.report.build_report(X, k=1, n_components=1, points=3),
    ):
        with pytest.warns(IdentifierWarning, match="as an identifier does, in 'who'") as caught:
            use(frame(data))
        assert len(caught) == 1
        assert caught[0].filename == __file__
    with pytest.warns(IdentifierWarning):
        noap.Problem(frame(data), k=1, adversary=noap.NoAdversary())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        noap.standardize(frame(data).to_numpy())  # no names, no identifier
        kept = {name: column for name, column in data.items() if name != "who"}
        noap.standardize(frame(kept))


def test_columns_are_chosen_by_name(tmp_path):
    path = written(tmp_path, "id,kind,length cm,w\nx1,cat,1,2\nx2,dog,3,5\n")
    reading = Reading(index="id", drop=("kind",))
    check(read_table(path, reading), ("length cm", "w"), [[1, 2], [3, 5]])
    check(read_table(path, Reading(columns=("w, length cm",))), ("w", "length cm"), [[2, 1], [5, 3]])
    np.testing.assert_array_equal(summarise(path, reading=reading).moments.mean, [2, 3.5])
    frame = pl.DataFrame({"length, cm": [1.0, 3.0], "kind": ["cat", "dog"], "w": [2.0, 5.0]})
    frame.write_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet", Reading(drop=("length, cm", "kind"))).names == ("w",)
    np.save(tmp_path / "t.npy", np.arange(6.0).reshape(2, 3))
    check(read_table(tmp_path / "t.npy", Reading(drop=("x1",))), ("x0", "x2"), [[0, 2], [3, 5]])
    for wrong, words in ((Reading(drop=("no",)), "--drop 'no' is no column of FILE .*; it has id, kind"),
                         (Reading(index="no"), "--index 'no'"), (Reading(columns=("w,no",)), "--columns 'no'"),
                         (Reading(columns=("w",), drop=("w",)), "leave no column")):  # fmt: skip
        with pytest.raises(InvalidProblem, match=words):
            read_table(path, wrong)


ODD = {
    "NA": ("a,b\n1,2\n3,NA\n5,6\n", r", line 3: 'NA' in column 'b'; fill .*--drop b"),
    "empty": ("a,b\n1,2\n3,\n,6\n", r", line 4: an empty entry in column 'a' \(2 entries in 2 columns are missing\)"),
    "null among text": ("a,b\n1,2\n3,n/a\n#N/A,6\n", r"line 4: '#N/A' in column 'a'"),
    "after an empty line": ("a,b\n1,2\n\n\n3,?\n", r"line 5: '\?' in column 'b'"),
    "after an entry of two lines": ('a,b\n1,"2\n"\n3,\n', r"line 4: an empty entry in column 'b'"),
    "text": ("a,b\n1,2\n3,oops\n5,6\n", r": column 'b' holds text, not numbers: 'oops' on line 3;.*--drop b"),
    "texts": ("a,b,c d\n1,x,u\n3,y,v\n", r"column 'b' .*'x' on line 2 \(so does 'c d'\).*--drop b --drop 'c d'"),
    "date": ("t,b\n2020-01-01,2\n2020-01-02,3\n", r"'2020-01-01' on line 2"),
    "thousands": ('a;b\n"1.234,5";2\n3;4\n', r"'1\.234,5' on line 2"),
    "infinity": ("a,b\n1,2\n3,-inf\n", r", line 3: infinity in column 'b'"),
    "short line": ("a,b,c\n1,2,3\n4,5\n6,7,8\n", r", line 3 has 2 entries, the first line has 3, separated by ','"),
    "long line": ("a;b\n1;2\n3;4\n5;6;7\n", r", line 4 has 3 entries, the first line has 2, separated by ';'"),
    "a late one": ("a,b\n" + "1,2\n" * 20_000 + "1.5,x\n", r"'x' on line 20002"),
    "header only": ("a,b\n", "X is empty"),
    "blank": ("\n\n", "is empty"),
}  # fmt: skip


@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz"])
@pytest.mark.parametrize(("text", "words"), ODD.values(), ids=ODD.keys())
def test_an_odd_entry_is_named_with_line_and_column(tmp_path, name, text, words):
    path = written(tmp_path, text, name)
    with pytest.raises(InvalidProblem, match=words) as error:
        read_table(path)
    assert str(path) in str(error.value) or "X is empty" in words
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", ["NA", "empty", "after an empty line", "text", "date", "long line", "a late one"])
def test_a_stream_names_the_line_too(tmp_path, kind):
    text, words = ODD[kind]
    # The first odd entry of the file, where the whole table names the first odd column.
    words = {"empty": "line 3: an empty entry in column 'b'"}.get(kind, words)
    with pytest.raises(InvalidProblem, match=words):
        summarise(written(tmp_path, text))


def test_whole_numbers_may_turn_into_fractions_late_in_a_stream(tmp_path):
    text = "a,b\n" + "1,2\n" * 5000 + "1.5, 2\n"
    found = summarise(written(tmp_path, text))
    assert found.n_samples == 5001
    assert found.moments.mean[0] == pytest.approx(5001.5 / 5001)


def test_parquet_names_the_row(tmp_path):
    path = tmp_path / "t.parquet"
    pl.DataFrame({"a": [1.0, None, 3.0], "b": [1, 2, 4]}).write_parquet(path)
    with pytest.raises(InvalidProblem, match=r"row 2: an empty entry in column 'a'"):
        read_table(path)
    pl.DataFrame({"a": ["1", "2", "ten"], "b": [1, 2, 4]}).write_parquet(path)
    with pytest.raises(InvalidProblem, match=r"column 'a' holds text, not numbers: 'ten' on row 3"):
        read_table(path)


@pytest.mark.parametrize(
    ("name", "raw", "words"),
    [("t.csv.gz", b"no gzip", "cannot be read"), ("t.csv", b"PAR1\0\0\0", "is not text"),
     ("t.pdf", b"x", "ends in '.pdf'; it must end in"), ("t.json.gz", b"x", "ends in '.json.gz'")],
)  # fmt: skip
def test_files_of_other_kinds(tmp_path, name, raw, words):
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(InvalidProblem, match=re.escape(words)):
        read_table(tmp_path / name)


def test_excel_needs_its_engine(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fastexcel", None)  # as if it were not installed
    (tmp_path / "t.xlsx").write_bytes(b"PK")
    with pytest.raises(InvalidProblem, match=re.escape("pip install 'noap[excel]'")):
        read_table(tmp_path / "t.xlsx")


def sheet(path, rows, name="numbers"):
    """Write the least that a spreadsheet is: text in place, one sheet."""

    def cell(x):
        if x is None:
            return "<c/>"
        return f"<c t='inlineStr'><is><t>{x}</t></is></c>" if isinstance(x, str) else f"<c><v>{x}</v></c>"

    table = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    kinds = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    package = "http://schemas.openxmlformats.org/package/2006"
    parts = {
        "[Content_Types].xml": f"<Types xmlns='{package}/content-types'><Default Extension='rels' ContentType="
        "'application/vnd.openxmlformats-package.relationships+xml'/>"
        f"<Override PartName='/xl/workbook.xml' ContentType='{kinds}.sheet.main+xml'/>"
        f"<Override PartName='/xl/worksheets/sheet1.xml' ContentType='{kinds}.worksheet+xml'/></Types>",
        "_rels/.rels": f"<Relationships xmlns='{package}/relationships'><Relationship Id='r1' "
        f"Type='{office}/officeDocument' Target='xl/workbook.xml'/></Relationships>",
        "xl/workbook.xml": f"<workbook xmlns='{main}' xmlns:r='{office}'><sheets><sheet name='{name}' sheetId='1' "
        "r:id='r1'/></sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f"<Relationships xmlns='{package}/relationships'><Relationship Id='r1' "
        f"Type='{office}/worksheet' Target='worksheets/sheet1.xml'/></Relationships>",
        "xl/worksheets/sheet1.xml": f"<worksheet xmlns='{main}'><sheetData>{table}</sheetData></worksheet>",
    }
    with zipfile.ZipFile(path, "w") as file:
        for part, text in parts.items():
            file.writestr(part, text)
    return path


def test_excel_where_its_engine_is_installed(tmp_path):
    pytest.importorskip("fastexcel")
    path = sheet(tmp_path / "t.xlsx", [[*NAMES, "kind"], *([*row, "cat"] for row in ROWS)])
    for reading in (Reading(drop=("kind",)), Reading(drop=("kind",), sheet="numbers")):
        check(read_table(path, reading))
    with pytest.raises(InvalidProblem, match=r"column 'kind' holds text, not numbers: 'cat' on row 1"):
        read_table(path)
    with pytest.raises(InvalidProblem, match="cannot be read"):
        read_table(path, Reading(sheet="nowhere"))
    with pytest.raises(InvalidProblem, match=r"row 2: an empty entry in column 'b'"):
        read_table(sheet(path, [["a", "b"], [1, 2], [3, None]]))
    check(read_table(sheet(path, ROWS), Reading(header=False)), ("x0", "x1", "x2"))
    path.write_bytes(b"PK junk")
    with pytest.raises(InvalidProblem, match="cannot be read"):
        read_table(path)
