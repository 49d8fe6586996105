import { expect, test } from 'vitest';
import type { OnProgress } from '../../runtime.ts';
import { ToldWork } from './told-work.ts';

test('work is done once for all who wait, and each hears how it goes, a later one from the last line on', async () => {
  const work = new ToldWork<string>();
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
