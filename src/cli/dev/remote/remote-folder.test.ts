import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { changeOf, RemoteFolder } from './remote-folder.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podyard-remote-folder-'));
});
afterEach(() => rm(root, { recursive: true }));

/** Returns the paths that are written and removed for the change that `act` makes. */
async function changed(act: () => Promise<unknown>): Promise<{ write: string[]; remove: string[] }> {
  const folder = new RemoteFolder(root);
  const before = await folder.read();
  await act();
  const { write, remove } = changeOf(before, await folder.read());
  return { write: write.map(({ path }) => path), remove };
}
const save = (name: string, text: string) => writeFile(join(root, name), text);

test('only files with another content are sent', async () => {
  await Promise.all([save('same.py', '1'), save('other.py', '1'), save('.env', 'KEY=1')]);
  const act = async () => {
    await rename(join(root, 'same.py'), join(root, 'x.py'));
    await save('same.py', '1'); // another file and time
    await rm(join(root, 'x.py'));
    await Promise.all([save('other.py', '2'), save('.env', 'KEY=2')]);
  };
  expect(await changed(act)).toEqual({ write: ['other.py'], remove: [] });
});

test('a file where a folder was, and a folder where a file was, replace it', async () => {
  await mkdir(join(root, 'a'));
  await Promise.all([save('a/deep.py', '1'), save('b', '1')]);
  const act = async () => {
    await Promise.all([rm(join(root, 'a'), { recursive: true }), rm(join(root, 'b'))]);
    await mkdir(join(root, 'b'));
    await Promise.all([save('a', '2'), save('b/deep.py', '2')]);
  };
  expect(await changed(act)).toEqual({ write: ['a', 'b/deep.py'], remove: ['a/deep.py', 'b', 'a'] });
});

test('a worker whose files are unknown gets all, in place of what its image has under their names', async () => {
  await mkdir(join(root, 'lib'));
  await Promise.all([save('lib/a.py', '1'), save('lib/b.py', '1'), save('main.py', '1')]);
  const { write, remove } = changeOf(null, await new RemoteFolder(root).read());
  expect(write.map(({ path }) => path)).toEqual(['lib/a.py', 'lib/b.py', 'main.py']);
  expect(remove).toEqual(['lib', 'main.py']);
});

test('every change is seen: in a file that an editor has replaced, and in a folder that is new', async () => {
  await save('main.py', '1');
  let seen = Promise.withResolvers<void>();
  const end = new RemoteFolder(root).watch(
    () => seen.resolve(),
    (error) => seen.reject(error),
  );
  const sees = async (act: () => Promise<unknown>) => {
    seen = Promise.withResolvers<void>();
    await act();
    await seen.promise;
  };
  await sees(() => save('main.py', '2'));
  await sees(async () => {
    await save('main.py~', '3');
    await rename(join(root, 'main.py~'), join(root, 'main.py'));
  });
  await sees(() => save('main.py', '4'));
  await sees(() => mkdir(join(root, 'lib')));
  await sees(() => save('lib/a.py', '1'));
  await sees(() => rm(join(root, 'lib'), { recursive: true }));
  await sees(() => mkdir(join(root, 'lib')));
  await sees(() => save('lib/a.py', '2'));
  end();
});
