#!/usr/bin/env python3
"""Drives headless Chromium over the pages of a running inspector.

  browser.py LINK FOLDER [--resolve] [--expect-text TEXT]...

Opens the one-time LINK and follows every link of the site, at most 12 pages of each path. Fails for each violation of WCAG 2.1 A and
AA that axe-core reports, in the light and in the dark scheme; for each page that is wider than a window of 360 pixels; for a message
in the browser's console; for a script that ran; and for a page without a main landmark. Leaves a screenshot of each path in FOLDER.
--resolve decides the first conflict by clicking, and fails if it stays open.
--expect-text fails unless a page shows the text.
"""
import argparse, collections, importlib.resources, pathlib, shutil, sys, urllib.parse
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

parser = argparse.ArgumentParser()
parser.add_argument("link")
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("--resolve", action="store_true")
parser.add_argument("--expect-text", action="append", default=[])
arguments = parser.parse_args()
arguments.folder.mkdir(parents=True, exist_ok=True)

options = webdriver.ChromeOptions()
for option in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1280,900"]:
    options.add_argument(option)
options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
browser.set_script_timeout(60)
axe = importlib.resources.files("axe_playwright_python").joinpath("axe.min.js").read_text()
run_axe = """
  const done = arguments[arguments.length - 1];
  axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'], resultTypes: ['violations']})
    .then(found => done(found.violations.map(each => ({id: each.id, help: each.help, html: each.nodes.map(node => node.html)}))),
      error => done([{id: 'axe', help: String(error), html: []}]));
"""
problems = []
seen_texts = set()


def complain(text):
    problems.append(text)
    print(f"problem: {text}", file=sys.stderr)


def path_of(address):
    return urllib.parse.urlsplit(address).path


def check(address, name):
    """Checks the page that is open, in both schemes and in a narrow window."""
    for scheme in ["light", "dark"]:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        # The policy of the pages forbids scripts. The protocol of the browser runs them nevertheless.
        browser.execute_script(axe)
        for violation in browser.execute_async_script(run_axe):
            nodes = "; ".join(html[:120] for html in violation["html"][:3])
            complain(f"{address} ({scheme}): {violation['id']}: {violation['help']}: {nodes}")
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True})
    width = browser.execute_script("return document.documentElement.scrollWidth")
    if width > 360:
        complain(f"{address}: {width} pixels wide in a window of 360")
    browser.save_screenshot(str(arguments.folder / f"{name}-360.png"))
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "light"}]})
    if len(browser.find_elements(By.CSS_SELECTOR, "main h1")) != 1:
        complain(f"{address}: no main landmark with one heading")
    for image in browser.find_elements(By.TAG_NAME, "img"):
        browser.execute_script("arguments[0].loading = 'eager'; arguments[0].scrollIntoView()", image)
        try:
            WebDriverWait(browser, 10).until(
                lambda _: browser.execute_script("return arguments[0].complete && arguments[0].naturalWidth", image))
        except Exception:
            complain(f"{address}: a picture does not load")
    browser.execute_script("window.scrollTo(0, 0)")
    browser.save_screenshot(str(arguments.folder / f"{name}.png"))
    if browser.execute_script("return window.scriptOfARecordRan === true"):
        complain(f"{address}: a script of a record ran")
    for entry in browser.get_log("browser"):
        complain(f"{address}: the console has: {entry['message'][:200]}")
    text = browser.find_element(By.TAG_NAME, "main").text
    for wanted in arguments.expect_text:
        if wanted in text:
            seen_texts.add(wanted)


try:
    browser.get(arguments.link)
    site = browser.current_url.rstrip("/")
    if "Overview" not in browser.title:
        sys.exit(f"the link shows '{browser.title}'")
    # The first key press reaches the link over the navigation.
    browser.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    if browser.switch_to.active_element.text != "Skip to the content":
        complain("the first element by keyboard does not skip the navigation")
    visited, waiting, counts = set(), [site + "/"], collections.Counter()
    while waiting:
        address = waiting.pop(0)
        path = path_of(address)
        if address in visited or counts[path] >= 12:
            continue
        visited.add(address)
        counts[path] += 1
        browser.get(address)
        name = "overview" if path == "/" else path.strip("/").replace("/", "-")
        check(address, name if counts[path] == 1 else f"{name}-{counts[path]}")
        for anchor in browser.find_elements(By.CSS_SELECTOR, "a[href]"):
            target = (anchor.get_attribute("href") or "").split("#")[0]
            # Files are saved, not shown.
            if target.startswith(site) and path_of(target) != "/file" and "as=csv" not in target:
                waiting.append(target)
    if arguments.resolve:
        browser.get(site + "/conflicts")
        browser.find_element(By.CSS_SELECTOR, "main tbody a").click()
        WebDriverWait(browser, 10).until(lambda _: "Conflict" in browser.title)
        browser.find_element(By.CSS_SELECTOR, "input[name=take][value=remote]").click()
        choice = browser.find_elements(By.CSS_SELECTOR, "tr.decide select")
        if choice:
            Select(choice[0]).select_by_value("local")
        browser.find_element(By.NAME, "note").send_keys("decided in the browser")
        browser.find_element(By.XPATH, "//button[text()='Resolve']").click()
        WebDriverWait(browser, 10).until(lambda _: "done=resolved" in browser.current_url)
        if "No conflicts." not in browser.find_element(By.TAG_NAME, "main").text:
            complain("the conflict is still open")
        browser.save_screenshot(str(arguments.folder / "conflict-resolved.png"))
    for wanted in arguments.expect_text:
        if wanted not in seen_texts:
            complain(f"no page shows {wanted!r}")
    print(f"{len(visited)} pages of {len(counts)} paths, {len(problems)} problems; screenshots in {arguments.folder}")
finally:
    browser.quit()
sys.exit(1 if problems else 0)
