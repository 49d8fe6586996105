import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import type { Recipe } from '../src/domain/builds/recipe.ts';
import type { RestFixture } from './rest-app.ts';

/** A program in Python without dependencies. */
export const RECIPE: Recipe = {
  language: 'python',
  dockerfile: null,
  target: null,
  base: null,
  version: null,
  installer: null,
  lockFiles: [],
  systemPackages: [],
  secretIds: [],
  buildCommand: null,
  entry: { kind: 'program', command: ['python3', 'main.py'] },
};

export const digestOf = (content: string | Buffer) => createHash('sha256').update(content).digest('hex');

/** Returns the entry of a file with this content. */
export function fileEntry(path: string, content: string | Buffer, mode = 0o644) {
  return { path, digest: digestOf(content), size: Buffer.byteLength(content), mode };
}

/** Sends a file, and expects that it is stored. */
export async function sendFile(rest: RestFixture, key: string, content: string | Buffer): Promise<void> {
  const response = await putFile(rest, key, content);
  expect(response.statusCode, response.body).toBe(204);
}

export function putFile(
  rest: RestFixture,
  key: string,
  content: string | Buffer,
  digest = digestOf(content),
  more: Record<string, string> = {},
) {
  return rest.inject({
    method: 'PUT',
    url: `/v2/builds/files/${digest}`,
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/octet-stream',
      'content-length': String(Buffer.byteLength(content)),
      ...more,
    },
    payload: Buffer.from(content),
  });
}

/** Sends small files together; `files` and `content` stand for what those say. */
export function putPack(
  rest: RestFixture,
  key: string,
  contents: readonly Buffer[],
  { files, content }: { files?: unknown; content?: Buffer } = {},
) {
  const line = files ?? contents.map((one) => ({ digest: digestOf(one), size: one.length }));
  const text = typeof line === 'string' ? line : `${JSON.stringify(line)}\n`;
  return rest.inject({
    method: 'POST',
    url: '/v2/builds/files',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/octet-stream' },
    payload: Buffer.concat([Buffer.from(text), content ?? Buffer.concat(contents)]),
  });
}
