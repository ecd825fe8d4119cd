// Opens documentation pages in headless Chromium, as a person would, and tries
// a call with a token. Prints what it saw as JSON.
//
//	node docs.mjs <playwright-core> <chromium> <token> <directory for screenshots> <url>...
const [playwright, executablePath, token, directory, ...urls] = process.argv.slice(2);
const { chromium } = (await import(playwright)).default;

const browser = await chromium.launch({
  executablePath,
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
  ],
});

async function visit(url, index) {
  const seen = { failed: [], console: [], operations: 0, status: "", body: "" };
  const page = await browser.newPage({ viewport: { width: 1280, height: 1600 } });
  page.on("requestfailed", (r) => seen.failed.push(`${r.url()} ${r.failure()?.errorText}`));
  page.on("response", (r) => r.status() >= 400 && seen.failed.push(`${r.url()} ${r.status()}`));
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && seen.console.push(m.text()));
  page.on("pageerror", (e) => seen.console.push(String(e)));
  await page.goto(url, { waitUntil: "load" });
  await page.waitForSelector("#operations-Box-getStatus");
  seen.operations = await page.locator(".opblock").count();
  await page.screenshot({ path: `${directory}/${index}.png` });

  await page.click("button.authorize");
  await page.fill(".modal-ux input[type=text], .modal-ux input[type=password]", token);
  await page.click(".modal-ux button.authorize");
  await page.click(".modal-ux button.btn-done");

  const block = page.locator("#operations-Box-getStatus");
  await block.locator(".opblock-summary-control").click();
  const execute = block.locator("button.execute");
  if (!(await execute.isVisible().catch(() => false))) await block.locator("button.try-out__btn").click();
  await execute.click();
  await block.locator(".live-responses-table .response-col_status").last().waitFor();
  seen.status = (await block.locator(".live-responses-table tbody .response-col_status").first().innerText()).trim();
  seen.body = await block.locator(".live-responses-table .highlight-code, .live-responses-table .microlight").first().innerText();
  await page.close();
  return seen;
}

async function inTurn() {
  const seen = [];
  for (const url of urls) seen.push(await visit(url, seen.length));
  return seen;
}

try {
  console.log(JSON.stringify(await inTurn()));
} finally {
  await browser.close();
}
