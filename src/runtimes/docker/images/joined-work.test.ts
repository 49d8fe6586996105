import { expect, test } from 'vitest';
import type { OnProgress } from '../../runtime.ts';
import { JoinedWork } from './joined-work.ts';

test('work is done once for all who wait, and each hears how it goes, a later one from the last line on', async () => {
  const work = new JoinedWork<string>();
  const heard: string[][] = [[], [], []];
  let begun = 0;
  let tell: OnProgress = () => {};
  let end = (_: string) => {};
  const run = (i: number) =>
    work.run('image', i === 2 ? undefined : (line) => heard[i]!.push(line), (onProgress) => {
      begun += 1;
      tell = onProgress;
      tell('begins');
      return new Promise((resolve) => {
        end = resolve;
      });
    });
  const first = run(0);
  tell('half');
  const others = [run(1), run(2)];
  tell('nearly');
  end('done');
  expect(await Promise.all([first, ...others])).toEqual(['done', 'done', 'done']);
  expect(heard).toEqual([['begins', 'half', 'nearly'], ['half', 'nearly'], []]);
  expect(begun).toBe(1);
  const again = run(0);
  end('again');
  expect(await again).toBe('again');
});

test('work that differs a little begins when the one before has ended, also badly, and hears of that meanwhile', async () => {
  const work = new JoinedWork<string>();
  const heard: string[] = [];
  const events: string[] = [];
  let fail = () => {};
  const first = work.runAfter('image', undefined, (tell) => {
    tell('half');
    return new Promise((_, reject) => {
      fail = () => reject(new Error('gone'));
    });
  });
  const later = (name: string) =>
    work.runAfter(
      'image',
      (line) => heard.push(`${name} ${line}`),
      async (_, hasWaited) => {
        events.push(`${name} begins, waited: ${hasWaited}`);
        await Promise.resolve();
        events.push(`${name} ends`);
        return name;
      },
    );
  const others = [later('a'), later('b')];
  expect(events).toEqual([]);
  fail();
  await expect(first).rejects.toThrow('gone');
  expect(await Promise.all(others)).toEqual(['a', 'b']);
  expect(events).toEqual(['a begins, waited: true', 'a ends', 'b begins, waited: true', 'b ends']);
  expect(heard).toEqual(['a half', 'b half']);
});
