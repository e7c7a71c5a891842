"""The page in a real browser."""

from __future__ import annotations

import base64

import pytest
from driven_browser import DrivenBrowser
from web_records import HOSTILE

CENTRE = """const box = document.querySelector(arguments[0]).getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2]"""
SCROLLED = """document.querySelector(arguments[0]).scrollIntoView({block: 'center'});
    return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"""
MARK = """const labels = [...document.querySelectorAll('#learners label')];
    return labels.find((label) => label.textContent === arguments[0]).firstChild.value"""


def count(browser, selector):
    return browser.run("return document.querySelectorAll(arguments[0]).length", selector)


def shown(browser, selector):
    """How many of these can be seen."""
    return browser.run(
        "return [...document.querySelectorAll(arguments[0])].filter((e) => e.getClientRects().length).length", selector
    )


def tip(browser):
    return browser.run("const t = document.getElementById('tip'); return t.hidden ? null : t.textContent")


def test_nothing_is_logged_and_nothing_is_asked_for(browser, page_file):
    assert browser.run("return document.readyState") == "complete"
    assert browser.console() == []
    others = [url for url in browser.requests() if not url.startswith("data:")]
    assert others == [page_file.as_uri()]


def test_the_log_would_show_an_error_and_a_request(browser):
    browser.run("fetch('http://127.0.0.1:9/'); setTimeout(() => { throw new Error('seen'); }, 0)")
    assert browser.run("return new Promise((done) => setTimeout(() => done(1), 200))") == 1
    said = " ".join(browser.console())
    assert "seen" in said
    assert "Content Security Policy" in said


def test_hostile_names_stay_text(browser):
    assert browser.run("return document.title") == "4 learners on sessions"
    assert count(browser, "img") == 0
    assert HOSTILE in browser.run("return document.querySelector('table.results tbody').textContent")
    assert HOSTILE in browser.run("return document.querySelector('#provenance').textContent")
    assert browser.run("return document.querySelector('.classes tbody th').textContent") == HOSTILE


def test_every_chart_is_drawn(browser):
    assert shown(browser, "svg.chart") == 3 + 3 + 3  # over time, planes, learning curves
    assert shown(browser, "svg.heat text:not(.tick):not(.axis)") == 3 * 6
    assert shown(browser, "svg.heat g path") >= 3 * 2
    short = "return [...document.querySelectorAll('svg.chart path.line')].filter((p) => !p.getTotalLength()).length"
    assert browser.run(short) == 3  # the last task over time, which is a point
    words = "return [...document.querySelectorAll('svg[role=img]')].every((s) => s.querySelector('desc').textContent)"
    assert browser.run(words)


def test_a_learner_is_switched_off_everywhere_and_on_again(browser):
    mark = browser.run(MARK, "ridge")
    assert shown(browser, f"[data-m='{mark}']") > 5
    front = browser.run("return document.querySelector('[data-key=front]').getAttribute('d')")
    browser.click(".menu summary")
    browser.click(f"#learners input[value='{mark}']")
    assert shown(browser, f"[data-m='{mark}']") == 0
    assert shown(browser, "[data-m]") > 5
    assert browser.run("return document.querySelector('[data-key=front]').getAttribute('d')") != front
    browser.click(f"#learners input[value='{mark}']")
    assert shown(browser, f"[data-m='{mark}']") > 5


def test_a_seed_that_is_switched_off_is_not_in_the_mean(browser):
    """Of ewc on task 1 at the end: 0.75, 0.76 and 0.77 by seed."""
    cell = """const map = document.querySelector('svg.heat[aria-label^=ewc]');
        return map.querySelectorAll('text:not(.tick):not(.axis)')[3].textContent"""
    average = """const panel = document.querySelector('svg[data-panel][aria-label^=ewc]');
        return panel.querySelector('[data-key=average]').getAttribute('d')"""
    before = browser.run(average)
    assert browser.run(cell) == ".76"
    browser.click(".menu summary")
    browser.click("#seeds input[value='2']")
    browser.click("#seeds input[value='1']")
    assert browser.run(cell) == ".75"
    assert browser.run(average) != before
    assert shown(browser, "[data-key='seed 0']") == 3
    assert shown(browser, "[data-key='seed 1'], [data-key='seed 2']") == 0
    browser.click("#seeds input[value='1']")
    browser.click("#seeds input[value='2']")
    assert browser.run(cell) == ".76"
    assert [round(float(n)) for n in _numbers(browser.run(average))] == [round(float(n)) for n in _numbers(before)]


def _numbers(path):
    return path.replace("M", " ").replace("L", " ").replace("h0", " ").split()


def test_pointing_shows_values(browser):
    browser.run(SCROLLED, "svg[data-panel]")
    browser.point_at(*browser.run(CENTRE, "svg[data-panel]"))
    assert tip(browser).startswith("after task 2: ")
    assert "mean of 3 seeds" in tip(browser)
    browser.point_at(1, 300)
    assert tip(browser) is None


def test_everything_can_be_done_with_keys(browser):
    browser.press("Tab")
    assert browser.run("return document.activeElement.className") == "skip"
    browser.run("document.querySelector('svg[data-map]').focus({preventScroll: true})")  # a scroll hides the tip
    browser.press("Right")
    first = tip(browser)
    browser.press("End")
    assert first.startswith("on task 1 after task 1: 0.9")
    assert tip(browser).startswith("on task 3 after task 3: 0.9")
    browser.press("Escape")
    assert tip(browser) is None
    browser.run("document.querySelector('.menu summary').focus()")
    browser.press("Space")
    browser.press("Tab")
    browser.press("Space")
    assert not browser.run("return document.querySelector('#learners input').checked")
    browser.press("Escape")
    assert not browser.run("return document.querySelector('.menu').open")


def test_tables_are_sorted_by_a_column(browser):
    names = """const heads = [...document.querySelectorAll('table.sortable tbody th')];
        return heads.map((head) => head.textContent.trim().split(' ')[0])"""
    assert browser.run(names)[0] == "ridge"
    browser.click("table.sortable th.number button")
    browser.click("table.sortable th.number button")
    order = browser.run(names)
    assert order[-1] == "si"  # which has no value
    assert order[-2] == "ridge"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_reader_and_the_switch(browser, scheme):
    light = "const c = getComputedStyle(document.body).backgroundColor; return parseInt(c.match(/\\d+/)[0]) > 128"
    browser.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    assert browser.run(light) == (scheme == "light")
    browser.click("#theme")
    assert browser.run(light) == (scheme == "dark")
    pressed = browser.run("return document.getElementById('theme').ariaPressed")
    assert pressed == str(scheme == "light").lower()
    browser.command("Emulation.setEmulatedMedia", features=[])


def test_nothing_sticks_out_on_a_phone(browser):
    size = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    browser.command("Emulation.setDeviceMetricsOverride", **size)
    assert browser.run("return document.documentElement.scrollWidth") <= 360
    letters = """const texts = [...document.querySelectorAll('svg.chart text')];
        return Math.min(...texts.map((text) => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a))"""
    assert browser.run(letters) >= 8
    browser.command("Emulation.clearDeviceMetricsOverride")


def test_on_paper_everything_is_open_and_switches_are_gone(browser):
    printed = base64.b64decode(browser.command("Page.printToPDF", printBackground=True)["data"])
    assert printed.startswith(b"%PDF")
    browser.command("Emulation.setEmulatedMedia", media="print")
    assert shown(browser, "nav") == 0
    browser.command("Emulation.setEmulatedMedia", media="")


def test_data_can_be_saved_without_a_network(browser):
    links = browser.run("return [...document.querySelectorAll('a.data')].map((a) => [a.download, a.href])")
    assert len(links) == 6
    assert all(name.startswith("sessions ") and href.startswith("data:text/csv") for name, href in links)


def test_without_scripts_there_are_no_dead_switches(started: DrivenBrowser, page_file):
    started.command("Emulation.setScriptExecutionDisabled", value=True)
    started.open(page_file)
    started.command("Emulation.setScriptExecutionDisabled", value=False)
    assert shown(started, "nav .switches") == 0
    assert shown(started, "svg.chart") == 9
