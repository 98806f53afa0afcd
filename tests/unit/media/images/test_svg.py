"""Drawings that only draw are taken; everything that runs, loads or grows is refused by name."""

import pytest

from framekiln.media.images.svg import BrokenSvg, SvgFacts, UnsafeSvg, check_svg
from framekiln.media.images.svg_size import SvgSize

NS = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'


def check(inner: str, root: str = 'width="10" height="20"') -> SvgFacts:
    return check_svg(f"<svg {NS} {root}>{inner}</svg>".encode())


@pytest.mark.parametrize(
    "inner",
    [
        '<path d="M0 0L1 1" fill="url(#g)" style="stroke:#fff;filter: url( \'#f\' )"/>',
        '<use href="#a"/><use xlink:href="#a"/><g id="a"/>',
        '<image href="data:image/png;base64,iVBORw0KGgo="/>',
        "<style>@font-face { src: url(data:font/woff2;base64,d09GMg==) } .a{fill:url(#g)}</style>",
        '<style><![CDATA[ .a::before { content: "\\201C" } @media print { .a{} } ]]></style>',
        '<text data-name="Image (2)" id="image(1)">url(http://example.com) javascript:</text>',
        '<metadata><rdf:RDF xmlns:rdf="urn:rdf"><rdf:li rdf:resource="http://a/"/></rdf:RDF>'
        "</metadata>",
        '<i:note xmlns:i="http://www.inkscape.org/" i:export="C:\\a"/><?xpacket a?><!-- b -->',
        '<animate attributeName="fill" values="red;url(#g)"/>',
        '<a href="#top"><title>on the top</title></a>',
    ],
)
def test_harmless_drawings_are_accepted(inner: str) -> None:
    assert check(inner).size == SvgSize(10, 20)


@pytest.mark.parametrize(
    ("inner", "named"),
    [
        ("<script>alert(1)</script>", "<script>"),
        ("<SCRIPT/>", "<SCRIPT>"),
        ('<s:script xmlns:s="http://www.w3.org/2000/svg"/>', "<script>"),
        ('<h:script xmlns:h="http://www.w3.org/1999/xhtml"/>', "<script> of HTML"),
        ('<h:iframe xmlns:h="http://www.w3.org/1999/xhtml"/>', "<iframe> of HTML"),
        ("<foreignObject/>", "<foreignObject>"),
        ('<g onload="x()"/>', "event handler onload of <g>"),
        ('<g oNcLiCk="x()"/>', "event handler"),
        ('<a href="javascript:x()"/>', "href of <a>"),
        ('<a xlink:href=" java&#10;script:x()"/>', "href of <a>"),
        ('<image href="http://example.com/a.png"/>', "href of <image>"),
        ('<image href="/etc/passwd"/>', "href of <image>"),
        ('<image href="a.png"/>', "href of <image>"),
        ('<image href="//example.com/a.png"/>', "href of <image>"),
        ('<image href="file:///etc/passwd"/>', "href of <image>"),
        ('<image href="data:image/svg+xml,&lt;svg/&gt;"/>', "href of <image>"),
        ('<image href="data:text/html,x"/>', "href of <image>"),
        ('<use href="other.svg#a"/>', "href of <use>"),
        ('<feImage xlink:href="http://a/"/>', "href of <feImage>"),
        ('<g xml:base="http://a/"/>', "base of <g>"),
        ('<g fill="url(http://a/#g)"/>', "fill of <g>"),
        ("<g fill=\"URL('http://a/')\"/>", "fill of <g>"),
        ('<g fill="u\\72l(http://a/)"/>', "fill of <g>"),
        ('<g style="fill:url(//a/b)"/>', "style of <g>"),
        ("<g style=\"background:image-set('http://a/' 1x)\"/>", "style of <g>"),
        ("<style>@import 'http://a/';</style>", "<style>"),
        ("<style>@\\69mport 'http://a/';</style>", "<style>"),
        ("<style><![CDATA[a{b:url(  http://a/ )}]]></style>", "<style>"),
        ("<style>a{b:url(htt<!-- -->p://a/)}</style>", "<style>"),
        ("<style>a{b:url(http://a/</style>", "<style>"),
        ('<set attributeName="href" to="javascript:x()"/>', "attributeName"),
        ('<animate attributeName="xlink:href" to="#a"/>', "attributeName"),
        ('<set attributeName="onclick" to="x()"/>', "attributeName"),
        ('<animate attributeName="fill" to="url(http://a/)"/>', "to of <animate>"),
    ],
)
def test_active_and_external_content_is_refused_by_name(inner: str, named: str) -> None:
    with pytest.raises(UnsafeSvg) as caught:
        check("\n\n" + inner)
    assert named in caught.value.message
    assert caught.value.message.startswith("line 3:")


def test_a_style_sheet_before_the_root_is_refused() -> None:
    with pytest.raises(UnsafeSvg, match="xml-stylesheet"):
        check_svg(f'<?xml-stylesheet href="http://a/"?><svg {NS}/>'.encode())


LAUGHS = "<!DOCTYPE svg [ <!ENTITY a 'ha'> <!ENTITY b '&a;&a;&a;&a;'> ]>"


@pytest.mark.parametrize(
    "before",
    [
        LAUGHS,
        '<!DOCTYPE svg SYSTEM "file:///etc/passwd">',
        '<!DOCTYPE svg [ <!ENTITY x SYSTEM "file:///etc/passwd"> ]>',
        '<!DOCTYPE svg [ <!ENTITY % x SYSTEM "http://a/"> %x; ]>',
    ],
)
def test_a_document_type_is_refused_before_entities_expand(before: str) -> None:
    with pytest.raises(UnsafeSvg, match="DOCTYPE"):
        check_svg(f"{before}<svg {NS}><text>&b;</text></svg>".encode())
    with pytest.raises(UnsafeSvg, match="DOCTYPE"):
        check_svg(f"{before}<svg {NS}/>".encode("utf-16"))


def test_nested_uses_are_counted_and_refused() -> None:
    levels = "".join(f'<g id="l{n + 1}">' + f'<use href="#l{n}"/>' * 10 + "</g>" for n in range(9))
    with pytest.raises(UnsafeSvg, match="<use>"):
        check(f'<g id="l0"><path/></g>{levels}')
    with pytest.raises(UnsafeSvg, match="cycle"):
        check('<g id="a"><use href="#b"/></g><g id="b"><use xlink:href="#a"/></g>')
    assert check('<g id="a"><path/></g>' + '<use href="#a"/>' * 1000)


def test_a_cycle_does_not_hide_a_bomb() -> None:
    levels = "".join(
        f'<g id="l{n + 1}">' + f'<use href="#l{n}"/>' * 10 + f'<use href="#l{n + 1}"/></g>'
        for n in range(9)
    )
    with pytest.raises(UnsafeSvg, match="<use>"):
        check(f'<g id="l0"><path/></g>{levels}')


@pytest.mark.parametrize(
    ("root", "inner"),
    [
        ('width="1' + " " * 300_000 + 'x1"', ""),
        ("", '<g fill="url(#a' + " " * 300_000 + 'x)"/>'),
        ("", '<g style="' + "/*" * 100_000 + '"/>'),
        ("", "<style>" + "\\a " * 100_000 + "</style>"),
        ("", '<set attributeName="' + "on" * 100_000 + ' x"/>'),
    ],
)
def test_long_repetitions_are_checked_in_linear_time(root: str, inner: str) -> None:
    assert check(inner, root).size == SvgSize(300, 150)


def test_depth_is_bounded() -> None:
    with pytest.raises(UnsafeSvg, match="deep"):
        check("<g>" * 5000 + "</g>" * 5000)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<svg>",
        f"<svg {NS}",
        f"<svg {NS}><g></svg>",
        "<svg/>",
        "<html/>",
        '<?xml version="1.0" encoding="ebcdic-x"?><svg/>',
        f"<svg {NS}>\0</svg>",
    ],
)
def test_files_that_are_not_svg_are_refused(text: str) -> None:
    with pytest.raises(BrokenSvg):
        check_svg(text.encode())


@pytest.mark.parametrize(
    ("root", "size"),
    [
        ('width="10" height="20"', (10, 20)),
        ('width="10.4px" height="19.6"', (10, 20)),
        ('width="1in" height="2.54cm"', (96, 96)),
        ('width="10mm" height="12pt"', (38, 16)),
        ('viewBox="0 0 40 30"', (40, 30)),
        ('viewBox="-5,-5,40,30" width="100%" height="100%"', (40, 30)),
        ('viewBox="0 0 40 30" width="80"', (80, 60)),
        ('viewBox="0 0 40 30" height="60"', (80, 60)),
        ('width="10"', (10, 150)),
        ("", (300, 150)),
        ('width="-4" height="zero"', (300, 150)),
        ('viewBox="0 0 0 0"', (300, 150)),
        ('width="1e3" height=".1"', (1000, 1)),
    ],
)
def test_the_size_is_what_a_browser_shows(root: str, size: tuple[int, int]) -> None:
    assert check("", root).size == SvgSize(*size)


def test_animated_drawings_are_recognized() -> None:
    assert check('<animate attributeName="x"/>').is_animated
    assert check("<style>@keyframes a { to { opacity: 0 } }</style>").is_animated
    assert not check("<style>a { fill: red }</style>").is_animated
