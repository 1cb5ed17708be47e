// The page in a real browser: node page.mjs BROWSER URL [FOLDER for pictures]
import assert from "node:assert/strict";
import puppeteer from "puppeteer-core";

const [executablePath, url, pictures] = process.argv.slice(2);
const browser = await puppeteer.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"], timeout: 60_000 });
try {
  const page = await browser.newPage();
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => ["error", "warn"].includes(message.type()) && complaints.push(message.text()));
  page.on("dialog", () => complaints.push("a script of a plugin's ran"));
  await page.setViewport({ width: 1500, height: 1250 });
  await page.goto(url, { waitUntil: "domcontentloaded" });

  // The batch that is over, and the one that runs.
  await page.waitForFunction(() => document.querySelectorAll(".card[data-batch]").length >= 2, { timeout: 20_000 });
  const text = (selector) => page.$$eval(selector, (all) => all.map(({ textContent }) => textContent));
  assert.match((await text("#state"))[0], /^live · 1 running$/);
  assert.deepEqual(await text("[data-batch='1'] .name .mono"), ["calc", "echo", "print", "panic", "nothing"]);
  assert.deepEqual(await text("[data-batch='1'] .outcome .badge"), ["ok", "ok", "blocked", "trap", "not-found"]);
  assert.deepEqual(await text("[data-batch='2'] .outcome .badge"), ["running"]);
  assert.match((await text("[data-batch='1'] .head"))[0], /conversation chat.*3 of 5 failed|3 of 5 failed.*conversation chat/);

  // Three stages, and the hook's decision, of the first call.
  const stages = await page.$$eval("[data-batch='1'] .call:nth-of-type(1) .track i, [data-batch='1'] .call .track i",
    (all) => [...new Set(all.map(({ className }) => className.split(" ")[0]))]);
  for (const stage of ["prepare", "execute", "finalize"]) assert.ok(stages.includes(stage), `${stage} of ${stages}`);
  const blocked = await page.$eval("[data-batch='1'] .track u.block", ({ title }) => title);
  assert.match(blocked, /^gate: block \(before-tool-call/);

  // A row opens; what it says is text, whatever is in it.
  await page.click("[data-batch='1'] .call:has(.name) > button");
  const rows = await page.$$("[data-batch='1'] .call > button");
  await rows[1].click();
  await page.waitForSelector("[data-batch='1'] .detail pre");
  const details = (await text("[data-batch='1'] .detail")).join("\n");
  assert.match(details, /<img src=x onerror=alert\(1\)>/);
  assert.ok(!/[\u202e\u0007]/.test(details), "characters that change how others read");
  assert.match(details, /fuel/);
  assert.match(details, /peak memory/);
  assert.equal(await page.$$eval("main img, main script", (all) => all.length), 0);

  // A running batch moves on, and a row stays open.
  const width = () => page.$eval("[data-batch='2'] .outcome span:last-child", ({ textContent }) => textContent);
  const before = await width();
  await page.waitForFunction((old) => document.querySelector("[data-batch='2'] .outcome span:last-child").textContent !== old, {}, before);
  assert.ok(await page.$("[data-batch='1'] .detail"));

  // Plugins with grants and limits; no value of a variable or a secret.
  const plugins = (await text("#plugins")).join("\n");
  assert.match(plugins, /misbehave/);
  assert.match(plugins, /\/workspace → .*\(read and write\)/);
  assert.match(plugins, /GET, POST https:\/\/api\.example\.com\/v1/);
  assert.match(plugins, /deadline.*600000 ms/s);
  assert.match(plugins, /envMODE/);
  assert.ok(!plugins.includes("the-value"));

  if (pictures) {
    for (const scheme of ["light", "dark"]) {
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      await page.screenshot({ path: `${pictures}/${scheme}.png` });
    }
  }
  assert.deepEqual(complaints, []);
  console.log("ok");
} finally {
  await browser.close();
}
