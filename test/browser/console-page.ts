import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Browser, Page } from 'playwright-core';

/** Refusals of the API, which the page shows. */
const EXPECTED_ERROR = /the server responded with a status of 4/;

let axeSource: Promise<string> | undefined;

/** Defined in a page by the source of axe-core. */
declare const axe: {
  run: (
    context: string,
    options: { resultTypes: string[]; runOnly?: string[] },
  ) => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>;
};

interface PageOptions {
  width?: number;
  height?: number;
  colorScheme?: 'light' | 'dark';
  /** Gets what the page throws and the errors in its console, such as violations of its content security policy. */
  complaints?: string[];
  /** Errors in the console that are not faults. */
  expected?: RegExp;
}

/** Opens a page with storage of its own, by default light and 1280 x 900 pixels. What it does waits for up to a minute. */
export async function openPage(
  browser: Browser,
  { width = 1280, height = 900, colorScheme = 'light', complaints, expected = EXPECTED_ERROR }: PageOptions = {},
): Promise<Page> {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme });
  page.setDefaultTimeout(60_000);
  page.on('pageerror', (error) => complaints?.push(error.message));
  page.on('console', (message) => {
    if (message.type() !== 'error' || expected.test(message.text())) return;
    complaints?.push(`${message.text()} (${message.location().url})`);
  });
  return page;
}

/** Signs in to the console with the server's key, and waits for the overview. */
export async function signIn(page: Page, server: { url: string; key: string }): Promise<void> {
  await page.goto(`${server.url}/`);
  await page.getByLabel('API key').fill(server.key);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
}

/** Opens a tab of an endpoint's page, and a section of it that is not its first. */
export async function openTab(page: Page, tab: string, section?: string): Promise<void> {
  await page.getByRole('tab', { name: tab, exact: true }).click();
  if (section === undefined) return;
  const sections = page.getByRole('navigation', { name: `Sections of ${tab}` });
  await sections.getByRole('link', { name: section, exact: true }).click();
}

/** Waits until what moves or fades in has arrived: on its way its colors are between two others. */
const UNTIL_STILL = `(async () => {
  for (let frame = 0; frame < 2; frame++) await new Promise((resolve) => requestAnimationFrame(resolve));
  const ending = document.getAnimations().filter(({ effect }) => Number.isFinite(effect.getComputedTiming().endTime));
  await Promise.all(ending.map(({ finished }) => finished.catch(() => {})));
})()`;

/** Returns the accessibility violations of what the page, or a part of it, shows now, once it has come to rest. `rules`: only these. */
export async function violationsOf(page: Page, part = ':root', rules?: string[]): Promise<string[]> {
  axeSource ??= readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  if (!(await page.evaluate('typeof axe === "object"'))) await page.evaluate(await axeSource);
  await page.mouse.move(0, 0); // a tooltip is part of no landmark
  await page.evaluate(UNTIL_STILL);
  return page.evaluate(
    async ([context, runOnly]) => {
      // It describes no elements of what passes.
      const { violations } = await axe.run(context, { resultTypes: ['violations'], ...(runOnly && { runOnly }) });
      return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 160)}`);
    },
    [part, rules] as const,
  );
}
