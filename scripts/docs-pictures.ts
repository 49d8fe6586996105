/**
 * Takes the pictures of the console in README.md and the guide, in light and dark, from a server that works meanwhile:
 * `npm run docs:pictures`. The jobs, workers and logs are real. The hour before the start is written to the server's history, because
 * nobody wants to wait for it. Needs Chromium; takes about two minutes.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { hasBrowser, launchBrowser } from '../test/browser/browser.ts';
import { Api } from '../test/e2e/api.ts';
import { ServerProcess } from '../test/e2e/server-process.ts';

const OUT = fileURLToPath(new URL('../docs/guide/pictures/', import.meta.url));
const IMAGE = 'podyard/echo-js:dev';
const SIZE = { width: 1280, height: 800 };
const WORKING_MS = 60_000;

if (!hasBrowser) throw new Error('install Chromium first: apt-get install chromium');
const server = await ServerProcess.start({ runtime: 'process', gpus: 'ADA_24:16' });
try {
  const api = new Api(server);
  const chat = await createEndpoints(api);
  await writePastHour();
  const stop = new AbortController();
  const work = keepBusy(api, chat, stop.signal);
  await new Promise((resolve) => setTimeout(resolve, WORKING_MS));
  await takePictures(chat);
  stop.abort();
  await work;
} finally {
  await server.dispose();
}

/** Creates endpoints in several states. Returns the id of the busiest. */
async function createEndpoints(api: Api): Promise<string> {
  const gpu = { pools: ['ADA_24'] };
  const chat = await api.createEndpoint({
    name: 'chat-8b',
    image: IMAGE,
    gpu,
    workers: { min: 1, max: 6 },
    scaling: { type: 'REQUEST_COUNT', value: 2, idleTimeout: 60 },
  });
  await api.createEndpoint({ name: 'whisper', image: IMAGE, gpu, workers: { min: 1, max: 3 } });
  await api.createEndpoint({ name: 'embeddings', image: IMAGE, gpu, workers: { min: 0, max: 4 } });
  const env = { HF_TOKEN: '{{ RUNPOD_SECRET_hf_token }}' }; // a secret that does not exist: this one fails, and says why
  await api.createEndpoint({ name: 'image-upscale', image: IMAGE, gpu, env, workers: { min: 1, max: 2 } });
  await api.call('PATCH', `/v2/serverless/${chat}`, { env: { MAX_TOKENS: '4096' } });
  return chat;
}

/** Writes a wave of work, a minute at a time, as the leader writes it. */
async function writePastHour(): Promise<void> {
  await server.query(
    `insert into history (kind, subject, span, starts_at, completed, failed, workers_running, workers_idle, queued, in_progress,
       cold_starts, gpu_seconds, amount, waits, executions, latencies)
     select 'ENDPOINT', e.id, 'minute', date_trunc('minute', now()) - n * interval '1 minute', jobs, jobs / 90, 1 + jobs / 50,
       1 + n % 2, jobs / 30, jobs / 40, case when n % 9 = 0 then 1 else 0 end, 60 + jobs, (60 + jobs) * 0.0003,
       array[(56::bigint + n % 5) << 32 | jobs], array[(74::bigint + n % 4) << 32 | jobs], array[(75::bigint + n % 4) << 32 | jobs]
     from endpoints e, generate_series(1, 59) n,
       lateral (select (110 + 70 * sin((n + length(e.name) * 7) / 9.0) + 25 * sin(n * 1.7) + 10 * (n % 3))::bigint / length(e.name) * 8) as wave(jobs)
     where e.name <> 'image-upscale'
     on conflict do nothing`,
  );
}

/** Sends jobs in waves until it is stopped. */
async function keepBusy(api: Api, chat: string, stop: AbortSignal): Promise<void> {
  const { endpoints } = await api.call<{ endpoints: { id: string; name: string }[] }>('GET', '/v2/serverless');
  const ids = endpoints.filter(({ name }) => name !== 'image-upscale');
  for (let second = 0; !stop.aborted; second++) {
    const jobs = 6 + Math.round(5 * Math.sin(second / 6));
    for (let n = 0; n < jobs; n++) {
      const id = n % 3 === 2 ? ids[(second + n) % ids.length]!.id : chat;
      const input = { delayMs: 300 + ((n * 97) % 500), logLines: 1, echo: `answer ${second}-${n}` };
      await api.call('POST', `/v2/${id}/run`, {
        input: n === 0 && second % 20 === 10 ? { throw: 'CUDA out of memory' } : input,
      });
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

async function takePictures(chat: string): Promise<void> {
  await mkdir(OUT, { recursive: true });
  const browser = await launchBrowser();
  try {
    for (const scheme of ['light', 'dark'] as const) {
      const page = await browser.newPage({ viewport: SIZE, deviceScaleFactor: 1.5, colorScheme: scheme });
      await page.goto(`${server.url}/`);
      await page.getByLabel('API key').fill(server.key);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
      await page.goto(`${server.url}/#/endpoints`);
      await page.getByText('chat-8b').first().waitFor();
      await takePicture(page, `endpoints-${scheme}`);
      await page.goto(`${server.url}/#/endpoints/${chat}`);
      await page.getByRole('img', { name: 'Jobs ended over the last 1h' }).waitFor();
      await takePicture(page, `endpoint-${scheme}`);
      await page.close();
    }
  } finally {
    await browser.close();
  }
}

/** WebP: a quarter of a PNG's size. Chromium makes it, Playwright's own screenshots cannot. */
async function takePicture(page: Page, name: string): Promise<void> {
  await page.waitForTimeout(2500); // charts end their first animation, live views have their first values
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 80 });
  await writeFile(`${OUT}${name}.webp`, Buffer.from(data, 'base64'));
  console.log(`docs/guide/pictures/${name}.webp: ${Math.round((data.length * 3) / 4 / 1024)} KiB`);
}
