import { expect, test } from 'vitest';
import { doEach } from './do-each.ts';

test('what fails holds up nothing, and the first failure is told in the end', async () => {
  const done: number[] = [];
  const work = async (n: number) => {
    if (n % 2 === 0) throw new Error(`no ${n}`);
    done.push(n);
  };
  await expect(doEach([1, 2, 3, 4, 5], work)).rejects.toThrow('no 2');
  expect(done).toEqual([1, 3, 5]);
  await doEach([7], work);
});
