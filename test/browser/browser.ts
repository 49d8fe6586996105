import { spawnSync } from 'node:child_process';
import { type Browser, chromium } from 'playwright-core';

/** Runs Debian's Chromium. */
const CHROMIUM = new URL('chromium.pl', import.meta.url).pathname;

export const hasBrowser = spawnSync('sh', ['-c', 'command -v perl && command -v chromium']).status === 0;

/** Launches Chromium without the services that contact its vendor. */
export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}
