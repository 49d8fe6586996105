import { expect, test } from 'vitest';
import { doEach } from './do-each.ts';

test('a failure does not stop the rest, and the first one is thrown at the end', async () => {
  const done: number[] = [];
  const work = async (n: number) => {
    if (n % 2 === 0) throw new Error(`no ${n}`);
    done.push(n);
  };
  await expect(doEach([1, 2, 3, 4, 5], work)).rejects.toThrow('no 2');
  expect(done).toEqual([1, 3, 5]);
  await doEach([7], work);
});
