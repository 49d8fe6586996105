import type { LookupAddress } from 'node:dns';
import { afterEach, expect, test, vi } from 'vitest';
import { createLookUp, domainOf } from './look-up-name.ts';

const FOUND: LookupAddress[] = [{ address: '192.0.2.1', family: 4 }];

afterEach(() => vi.useRealTimers());

/** Names of `silent` are answered only by `end`. */
function start() {
  const asked: string[] = [];
  const ends: (() => void)[] = [];
  const lookUp = createLookUp((host) => {
    asked.push(host);
    return host.endsWith('.silent') ? new Promise((resolve) => ends.push(() => resolve([]))) : Promise.resolve(FOUND);
  });
  return { asked, lookUp, end: () => ends.shift()!() };
}

test('an owner of names that are never answered holds up no other', async () => {
  const { asked, lookUp } = start();
  for (let n = 0; n < 50; n += 1) void lookUp(`${n}.silent`, 'one');
  for (let n = 0; n < 50; n += 1) void lookUp(`${n}.silent`, 'two');
  expect(asked).toHaveLength(4);
  expect(await lookUp('example.org', 'three')).toEqual(FOUND);
});

test('a name that many wait for is looked up once, and leaves the owner room for another', async () => {
  const { asked, lookUp } = start();
  for (let n = 0; n < 50; n += 1) void lookUp('only.silent', 'one');
  expect(await lookUp('example.org', 'one')).toEqual(FOUND);
  expect(asked).toEqual(['only.silent', 'example.org']);
});

test('an owner’s silent names do not hold up the same name of another', async () => {
  const { lookUp } = start();
  for (let n = 0; n < 5; n += 1) void lookUp(`${n}.silent`, 'one');
  void lookUp('example.org', 'one'); // waits behind them
  expect(await lookUp('example.org', 'two')).toEqual(FOUND);
});

test('a lookup that waited too long behind silent names is rejected without asking', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const { asked, lookUp, end } = start();
  for (let n = 0; n < 2; n += 1) void lookUp(`${n}.silent`, 'one');
  const late = lookUp('example.org', 'one');
  vi.advanceTimersByTime(11_000);
  end();
  await expect(late).rejects.toThrow('example.org was not looked up: other names whose servers do not answer');
  expect(asked).toEqual(['0.silent', '1.silent']);
});

test('names of one domain have one owner', () => {
  expect(['a.example.org', 'b.c.example.org', 'example.org', 'localhost'].map(domainOf)).toEqual([
    ...['example.org', 'example.org', 'example.org', 'localhost'],
  ]);
});
