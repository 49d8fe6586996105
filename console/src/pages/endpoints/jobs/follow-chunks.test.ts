import { expect, test } from 'vitest';
import { followChunks, type Streamed, textOf } from './follow-chunks.ts';

/** Follows a stream that sends these events, one list for each connection. */
async function follow(...connections: { id?: string; event?: string; data: string }[][]) {
  const seen: Streamed[] = [];
  const lastIds: (string | null)[] = [];
  let done = '';
  await followChunks({
    connect: async function* (lastId) {
      lastIds.push(lastId);
      yield* connections.shift() ?? [{ event: 'done', data: '{}' }];
    },
    onChange: (streamed) => void seen.push(streamed),
    onDone: (job) => {
      done = job;
    },
    sleep: async () => {},
    signal: new AbortController().signal,
  });
  return { last: seen.at(-1), lastIds, done };
}

test('chunks are collected over a break until the job is done', async () => {
  const { last, lastIds, done } = await follow(
    [{ id: '1', data: '"a"' }],
    [
      { id: '2', data: '"b"' },
      { event: 'done', data: '{"status":"COMPLETED"}' },
    ],
  );
  expect(last).toEqual({ chunks: ['"a"', '"b"'], isCut: false });
  expect(lastIds).toEqual([null, '1']);
  expect(done).toBe('{"status":"COMPLETED"}');
});

test('of a long stream the beginning is kept', async () => {
  const chunks = Array.from({ length: 6_000 }, (_, n) => ({ id: String(n), data: '"x"' }));
  const { last } = await follow([...chunks, { event: 'done', data: '{}' }]);
  expect(last).toMatchObject({ isCut: true });
  expect(last!.chunks).toHaveLength(5_000);
});

test('texts are joined, other values stand one a line', () => {
  expect(textOf(['"Good "', '"mor\\nning"'])).toBe('Good mor\nning');
  expect(textOf(['{"token":1}', '"x"'])).toBe('{"token":1}\n"x"');
  expect(textOf([])).toBe('');
});
