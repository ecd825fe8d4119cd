// Opens the documentation page in headless Chromium, as a person would, and
// tries a call with a token. Prints what it saw as JSON.
//
//	node docs.mjs <playwright-core> <chromium> <url of the page> <token> <screenshot.png>
const [playwright, executablePath, url, token, screenshot] = process.argv.slice(2);
const { chromium } = (await import(playwright)).default;

const browser = await chromium.launch({
  executablePath,
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
  ],
});
const seen = { failed: [], console: [], hosts: [], operations: 0, status: "", body: "" };
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 1600 } });
  const hosts = new Set();
  page.on("request", (r) => hosts.add(new URL(r.url()).host || "data"));
  page.on("requestfailed", (r) => seen.failed.push(`${r.url()} ${r.failure()?.errorText}`));
  page.on("response", (r) => r.status() >= 400 && seen.failed.push(`${r.url()} ${r.status()}`));
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && seen.console.push(m.text()));
  page.on("pageerror", (e) => seen.console.push(String(e)));
  await page.goto(url, { waitUntil: "networkidle" });
  await page.waitForSelector(".opblock");
  seen.operations = await page.locator(".opblock").count();
  await page.screenshot({ path: screenshot });

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
  await page.screenshot({ path: screenshot.replace(".png", "-tried.png"), fullPage: true });
  seen.hosts = [...hosts];
} finally {
  await browser.close();
}
console.log(JSON.stringify(seen));
