import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { REST_REVISIONS } from '../core/rest-revisions.ts';
import { isQueuePath } from './data-plane.ts';

test('no path of REST is taken for one of an endpoint, in any revision', async () => {
  for (const revision of REST_REVISIONS) {
    const file = revision === '2026-07' ? 'openapi.json' : `openapi-${revision}.json`;
    const text = await readFile(new URL(`../../api/${file}`, import.meta.url), 'utf8');
    const paths = Object.keys((JSON.parse(text) as { paths: object }).paths).filter((path) => path.startsWith('/v2/'));
    expect(paths.length).toBeGreaterThan(50);
    const filled = paths.map((path) => path.replace(/(?<!^\/v2\/)\{\w+\}/g, 'x1'));
    expect(filled.filter((path) => !path.startsWith('/v2/{') && isQueuePath(path))).toEqual([]);
  }
  expect(isQueuePath('/v2/abcdefghijklmn/run')).toBe(true);
});
