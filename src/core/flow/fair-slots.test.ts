import { expect, test } from 'vitest';
import { FairSlots } from './fair-slots.ts';

/** Starts a piece of work that the test ends. */
function begin(slots: FairSlots, owner: string, name: string, begun: string[]): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const running = slots.run(owner, () => {
    begun.push(name);
    return promise;
  });
  return () => {
    resolve();
    return running;
  };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('an owner has no more in at a time than it may, and others are let in beside it', async () => {
  const slots = new FairSlots({ slots: 3, perOwner: 2 });
  const begun: string[] = [];
  const ends = ['a1', 'a2', 'a3', 'b1'].map((name) => begin(slots, name[0]!, name, begun));
  await settled();
  expect(begun).toEqual(['a1', 'a2', 'b1']);
  await ends[3]!();
  expect(begun).toEqual(['a1', 'a2', 'b1']); // the free slot is not for a third one of a
  await ends[0]!();
  await settled();
  expect(begun).toEqual(['a1', 'a2', 'b1', 'a3']);
  await Promise.all(ends.map((end) => end()));
});

test('owners take turns, each in order of arrival, however many one of them has waiting', async () => {
  const slots = new FairSlots({ slots: 1, perOwner: 1 });
  const begun: string[] = [];
  const names = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'];
  const ends = names.map((name) => begin(slots, name[0]!, name, begun));
  for (let i = 0; i < names.length; i++) {
    await settled();
    await ends[names.indexOf(begun[i]!)]!();
  }
  expect(begun).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
});

test('work that fails frees its slot, and the failure is its caller’s', async () => {
  const slots = new FairSlots({ slots: 1, perOwner: 1 });
  await expect(slots.run('a', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  expect(await slots.run('a', async () => 1)).toBe(1);
});

test('an owner has more in while it is alone, and no more than the others once one comes', async () => {
  const slots = new FairSlots({ slots: 9, perOwner: 1, alone: 3 });
  const begun: string[] = [];
  const first = ['a1', 'a2', 'a3', 'a4', 'a5', 'a6'].map((name) => begin(slots, 'a', name, begun));
  await settled();
  expect(begun.splice(0)).toEqual(['a1', 'a2', 'a3']);
  const others = ['b1', 'b2'].map((name) => begin(slots, 'b', name, begun));
  await settled();
  expect(begun.splice(0)).toEqual(['b1']);
  await first[0]!();
  await first[1]!();
  expect(begun).toEqual([]);
  await others[0]!();
  await others[1]!();
  await settled();
  expect(begun).toEqual(['b2', 'a4', 'a5']);
  await Promise.all(first.map((end) => end()));
});
