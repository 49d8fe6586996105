import { expect, test } from 'vitest';
import { fetchPercent, fetchText, fitText, modelText, patternsOf, roomBar, type StoredModel } from './model-values.ts';

const GB = 1e9;
const fetchOf = (fetch: Partial<NonNullable<StoredModel['fetch']>>) => ({
  fetch: { bytes: 0, totalBytes: 0, bytesPerSecond: 0, secondsLeft: null, ...fetch },
});

test('a fetch says how far it is, how fast, and how long it still takes', () => {
  const running = fetchOf({ bytes: 1.2 * GB, totalBytes: 14 * GB, bytesPerSecond: 210e6, secondsLeft: 61 });
  expect([fetchText(running), fetchPercent(running)]).toEqual(['1.2 GB of 14.0 GB, 210.0 MB/s, 1 min 1 s left', 8]);
  const stalled = fetchOf({ bytes: 5, totalBytes: 10 });
  expect([fetchText(stalled), fetchPercent(stalled)]).toEqual(['5 B of 10 B, 0 B/s', 50]);
  expect([fetchText(fetchOf({})), fetchPercent({ fetch: null })]).toEqual(['Waiting for its turn', null]);
});

test('the bar has what cannot leave first, and is never longer than the budget', () => {
  const bar = (usedBytes: number, stuckBytes: number) => roomBar({ budgetBytes: 100 * GB, usedBytes, stuckBytes });
  expect(bar(50 * GB, 20 * GB)).toEqual({
    stuckPercent: 20,
    otherPercent: 30,
    text: '50.0 GB of 100.0 GB; 20.0 GB are pinned or in use',
  });
  expect(bar(150 * GB, 90 * GB)).toMatchObject({ stuckPercent: 90, otherPercent: 10 });
  expect(roomBar({ budgetBytes: 0, usedBytes: 0, stuckBytes: 0 })).toMatchObject({ stuckPercent: 0, otherPercent: 0 });
});

test('whether a model fits is said before it is set', () => {
  const room = { budgetBytes: 100 * GB, usedBytes: 60 * GB, stuckBytes: 40 * GB };
  const say = (gb: number) => fitText({ id: 'm', bytes: gb * GB }, { models: [], room });
  expect(say(30)).toBe('It fits: 40.0 GB of 100.0 GB are free.');
  expect(say(50)).toBe('It fits, once models that were used longest ago have left.');
  expect(say(70)).toBe('It does not fit now: 40.0 GB of 100.0 GB are pinned or in use.');
  expect(say(101)).toBe('It does not fit: models may take 100.0 GB, and it has 101.0 GB.');
  expect(fitText({ id: 'm', bytes: 1 }, { models: [], room: null })).toBeNull();
  const stored = { id: 'm', state: 'STORED' } as StoredModel;
  expect(fitText({ id: 'm', bytes: 1 }, { models: [stored], room })).toBe('It is on the machine already.');
});

test('a model is named with its commit; patterns are separated by spaces or commas', () => {
  const model = { name: 'org/m', commit: `sha256:${'a'.repeat(64)}`, files: 1, bytes: 12 };
  expect(modelText(model)).toBe('org/m@aaaaaaa, 1 file, 12 B');
  expect(patternsOf(' *.gguf, original/*\n')).toEqual(['*.gguf', 'original/*']);
});
