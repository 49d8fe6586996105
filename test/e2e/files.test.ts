/** The files of network volumes through the whole server, with the clients that people use: s3cmd, rclone, aws, and Podyard's own commands. */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MAIN } from '../podyard-main.ts';
import { run as podyard, runToFailure } from './podyard-command.ts';
import { ServerProcess } from './server-process.ts';

const TIME_LIMIT_MS = 120_000;

let server: ServerProcess;
let folder: string;
let volume: string;
let env: Record<string, string>;
let s3: { id: string; secret: string };
beforeAll(async () => {
  server = await ServerProcess.start({ runtime: 'simulated' });
  folder = await mkdtemp(join(tmpdir(), 'podyard-files-'));
  env = { PODYARD_URL: server.url, PODYARD_API_KEY: server.key };
  const made = await podyard(['volumes', 'create', 'data', '--size', '10', '--data-center', 'LOCAL-1', '--json'], env);
  volume = JSON.parse(made).id;
  s3 = JSON.parse(await podyard(['s3-keys', 'create', 'test', '--scope', 'files/data:write', '--json'], env));
  await mkdir(join(folder, 'tree/below'), { recursive: true });
  await writeFile(join(folder, 'tree/a file.txt'), 'with a space');
  await writeFile(join(folder, 'tree/below/ünï.bin'), Buffer.alloc(100_000, 'x'));
  await writeFile(join(folder, 'large'), '');
  await truncate(join(folder, 'large'), 66 * 2 ** 20);
}, TIME_LIMIT_MS);
afterAll(async () => {
  await server?.dispose();
  if (folder) await rm(folder, { recursive: true, force: true });
}, TIME_LIMIT_MS);

const program = async (name: string, args: string[], more: Record<string, string> = {}) => {
  const { PATH } = process.env as Record<string, string>;
  const options = { env: { PATH, HOME: folder, ...more }, timeout: TIME_LIMIT_MS, maxBuffer: 2 ** 24 };
  const { stdout, stderr } = await promisify(execFile)(name, args, options);
  return { stdout, stderr };
};

const etagOf = async (key: string) => {
  const headers = { authorization: `Bearer ${server.key}` };
  return (await fetch(`${server.url}/s3/${volume}/${key}`, { method: 'HEAD', headers })).headers.get('etag')!;
};

const treeOf = async (path: string) =>
  (await readdir(path, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(path.length + 1))
    .sort();

test(
  's3cmd puts, lists, gets, copies, deletes and sends parts',
  async () => {
    const { host } = new URL(server.url);
    await writeFile(
      join(folder, '.s3cfg'),
      `[default]\naccess_key = ${s3.id}\nsecret_key = ${s3.secret}\nhost_base = ${host}/s3\nhost_bucket = ${host}/s3\nuse_https = False\n`,
    );
    const s3cmd = async (...args: string[]) => (await program('s3cmd', ['--no-progress', ...args])).stdout;
    const at = (key: string) => `s3://${volume}/${key}`;
    expect(await s3cmd('ls')).toContain(`s3://${volume}`);
    await s3cmd('put', '--recursive', join(folder, 'tree'), at('s3cmd/'));
    expect(await s3cmd('ls', '--recursive', at('s3cmd/'))).toContain('s3cmd/tree/below/ünï.bin');
    expect(await s3cmd('ls', at('s3cmd/'))).toContain(`DIR  s3://${volume}/s3cmd/tree/`);
    await mkdir(join(folder, 'from-s3cmd'));
    await s3cmd('get', '--recursive', at('s3cmd/'), join(folder, 'from-s3cmd/'));
    expect(await readFile(join(folder, 'from-s3cmd/tree/a file.txt'), 'utf8')).toBe('with a space');
    expect(await s3cmd('info', at('s3cmd/tree/a file.txt'))).toContain('File size: 12');
    await s3cmd('cp', at('s3cmd/tree/a file.txt'), at('s3cmd/copied'));
    await s3cmd('put', '--multipart-chunk-size-mb=15', join(folder, 'large'), at('s3cmd/large'));
    await s3cmd('get', at('s3cmd/large'), join(folder, 'large-again'));
    expect((await stat(join(folder, 'large-again'))).size).toBe(66 * 2 ** 20);
    expect(await s3cmd('multipart', `s3://${volume}`)).not.toContain('large');
    await s3cmd('del', '--recursive', '--force', at('s3cmd/'));
    expect(await s3cmd('ls', '--recursive', at('s3cmd/'))).not.toContain('.txt');
  },
  TIME_LIMIT_MS,
);

test(
  'rclone copies a folder there and back with its times, and finds nothing to do the second time',
  async () => {
    const config = {
      RCLONE_CONFIG_P_TYPE: 's3',
      RCLONE_CONFIG_P_PROVIDER: 'Other',
      RCLONE_CONFIG_P_ACCESS_KEY_ID: s3.id,
      RCLONE_CONFIG_P_SECRET_ACCESS_KEY: s3.secret,
      RCLONE_CONFIG_P_ENDPOINT: `${server.url}/s3`,
      RCLONE_CONFIG_P_CHUNK_SIZE: '16M',
      RCLONE_CONFIG_P_UPLOAD_CUTOFF: '32M',
    };
    const rclone = (...args: string[]) => program('rclone', args, config);
    await rclone('copy', join(folder, 'tree'), `P:${volume}/rclone`);
    await rclone('copy', `P:${volume}/rclone`, join(folder, 'from-rclone'));
    expect(await treeOf(join(folder, 'from-rclone'))).toEqual(await treeOf(join(folder, 'tree')));
    const times = await Promise.all(['tree', 'from-rclone'].map((name) => stat(join(folder, name, 'a file.txt'))));
    expect(Math.abs(times[0]!.mtimeMs - times[1]!.mtimeMs)).toBeLessThan(1);
    const again = await rclone('copy', '--verbose', '--modify-window=1us', join(folder, 'tree'), `P:${volume}/rclone`);
    expect(again.stderr).toContain('There was nothing to transfer');
    await rclone('copyto', join(folder, 'large'), `P:${volume}/rclone/large`);
    const { stdout } = await rclone('lsjson', '--recursive', `P:${volume}/rclone`);
    expect(JSON.parse(stdout)).toContainEqual(expect.objectContaining({ Path: 'large', Size: 66 * 2 ** 20 }));
    await rclone('check', '--size-only', join(folder, 'tree'), `P:${volume}/rclone`, '--one-way');
    await rclone('delete', `P:${volume}/rclone`);
    expect(JSON.parse((await rclone('lsjson', '--recursive', '--files-only', `P:${volume}/rclone`)).stdout)).toEqual(
      [],
    );
  },
  TIME_LIMIT_MS,
);

// Where it is installed: as a package for CI it is 106 MB, and each of its commands takes a second of CPU.
const hasAws = process.env.PATH!.split(delimiter).some((path) => existsSync(join(path, 'aws')));
test.skipIf(!hasAws)(
  'the AWS command line syncs both ways, sends parts, presigns and removes',
  async () => {
    const config = { AWS_ACCESS_KEY_ID: s3.id, AWS_SECRET_ACCESS_KEY: s3.secret, AWS_DEFAULT_REGION: 'LOCAL-1' };
    const aws = async (...args: string[]) =>
      (await program('aws', ['--endpoint-url', `${server.url}/s3`, 's3', ...args], config)).stdout;
    const at = (key: string) => `s3://${volume}/aws/${key}`;
    await writeFile(join(folder, 'larger'), Buffer.alloc(100e6, 'x'));
    await aws('cp', '--no-progress', join(folder, 'larger'), at('larger')); // 12 parts
    expect(await etagOf('aws/larger')).toMatch(/-\d+"$/);
    await aws('sync', join(folder, 'tree'), at('tree'));
    expect(await aws('sync', join(folder, 'tree'), at('tree'))).toBe('');
    expect(await aws('ls', '--recursive', at(''))).toMatch(
      / 100000000 aws\/larger\n.*aws\/tree\/a file\.txt\n.*ünï\.bin\n$/,
    );
    await aws('cp', '--recursive', '--no-progress', at(''), join(folder, 'from-aws'));
    expect(await treeOf(join(folder, 'from-aws/tree'))).toEqual(await treeOf(join(folder, 'tree')));
    expect((await stat(join(folder, 'from-aws/larger'))).size).toBe(100e6);
    const signed = await fetch((await aws('presign', at('tree/a file.txt'))).trim());
    expect([signed.status, await signed.text()]).toEqual([200, 'with a space']);
    await aws('rm', '--recursive', at(''));
    expect(await etagOf('aws/larger')).toBeNull();
  },
  2 * TIME_LIMIT_MS,
);

test(
  'podyard volumes cp, ls and rm copy folders and large files both ways',
  async () => {
    await podyard(['volumes', 'cp', '-r', join(folder, 'tree'), 'data:own'], env);
    await podyard(['volumes', 'cp', join(folder, 'large'), 'data:own/'], env);
    const listed = JSON.parse(await podyard(['volumes', 'ls', 'data:own', '--json'], env));
    expect(listed.map(({ key, size }: { key: string; size: number }) => [key, size])).toEqual([
      ['own/below/', 0],
      ['own/a file.txt', 12],
      ['own/large', 66 * 2 ** 20],
    ]);
    expect(await podyard(['volumes', 'ls', 'data:own'], env)).toMatch(/12 B +\S+Z +a file\.txt/);
    const copy = async (...args: string[]) => JSON.parse(await podyard(['volumes', 'cp', ...args, '--json'], env));
    expect(await copy('-r', join(folder, 'tree'), 'data:own')).toEqual({ files: 0, bytes: 0, unchanged: 2 });
    const here = [process.execPath, MAIN, 'volumes', 'cp', '-r', '.', 'data:own', '--json'];
    const { stdout } = await program('sh', ['-c', 'cd "$0" && exec "$@"', join(folder, 'tree'), ...here], env);
    expect(JSON.parse(stdout)).toEqual({ files: 0, bytes: 0, unchanged: 2 });
    expect(await copy(join(folder, 'large'), 'data:own/')).toEqual({ files: 0, bytes: 0, unchanged: 1 });
    await podyard(['volumes', 'cp', '-r', 'data:own', join(folder, 'from-own')], env);
    expect(await copy('-r', 'data:own', join(folder, 'from-own'))).toEqual({ files: 0, bytes: 0, unchanged: 3 });
    await writeFile(join(folder, 'from-own/a file.txt'), 'changed here');
    expect(await copy('-r', 'data:own', join(folder, 'from-own'))).toMatchObject({ files: 1, unchanged: 2 });
    expect(await readFile(join(folder, 'from-own/a file.txt'), 'utf8')).not.toBe('changed here');
    const etag = (await etagOf('own/large')).replaceAll('"', '');
    await rm(join(folder, 'from-own/large'));
    const begun = (await readFile(join(folder, 'large'))).subarray(0, 60 * 2 ** 20);
    await writeFile(join(folder, `from-own/large.${etag}.podyard-part`), begun);
    await writeFile(join(folder, 'from-own/large.another.podyard-part'), 'of another version');
    expect(await copy('data:own/large', join(folder, 'from-own/'))).toEqual({
      ...{ files: 1, bytes: 66 * 2 ** 20, unchanged: 0 },
    });
    expect((await readFile(join(folder, 'from-own/large'))).equals(await readFile(join(folder, 'large')))).toBe(true);
    expect(await treeOf(join(folder, 'from-own'))).toEqual(['a file.txt', 'below/ünï.bin', 'large']);
    expect((await stat(join(folder, 'from-own/large'))).size).toBe(66 * 2 ** 20);
    const missing = await runToFailure(['volumes', 'cp', 'data:own/missing', folder], env, 4);
    expect(missing).toContain("there is no file 'own/missing' in data");
    await runToFailure(['volumes', 'cp', 'data:a', 'data:b'], env, 2);
    await runToFailure(['volumes', 'cp', join(folder, 'tree'), 'data:own'], env, 2);
    expect(await runToFailure(['volumes', 'cp', '/dev/null', 'data:own/'], env, 2)).toContain('neither a file nor');
    expect(await runToFailure(['volumes', 'cp', join(folder, 'none'), 'data:own/'], env, 2)).toContain('no such file');
    expect(await runToFailure(['volumes', 'cp', 'data:own/large', '/dev/null'], env, 2)).toContain('not a file');
    expect(await runToFailure(['volumes', 'cp', 'data:', folder], env, 2)).toContain('copy all of it with -r');
    expect(await runToFailure(['volumes', 'cp', 'data:../x', folder], env, 2)).toContain("has '..'");
    expect(await runToFailure(['volumes', 'rm', '-r', 'data:none', '--yes'], env, 4)).toContain("directory 'none'");
    const long = await runToFailure(['volumes', 'cp', join(folder, 'large'), `data:${'n'.repeat(300)}`], env, 5);
    expect(long).toContain('255 bytes');
    await mkdir(join(folder, 'linked'));
    await symlink('../large', join(folder, 'linked/link'));
    expect(await podyard(['volumes', 'cp', '-r', join(folder, 'linked'), 'data:x'], env)).toBe(
      'Links and special files are left out: link.\n0 files, 0 B.\n',
    );
    await podyard(['volumes', 'rm', 'data:own/a file.txt'], env);
    await podyard(['volumes', 'rm', '-r', 'data:own', '--yes'], env);
    expect(await runToFailure(['volumes', 'ls', 'data:own'], env, 4)).toContain("no file or directory 'own'");
    expect(await podyard(['volumes', 'ls'], env)).toContain('LOCAL-1');
  },
  2 * TIME_LIMIT_MS,
);

test(
  'an upload that was killed goes on with the parts that are there, unless the file has changed',
  async () => {
    const file = join(folder, 'large');
    const headers = { authorization: `Bearer ${server.key}` };
    const url = `${server.url}/s3/${volume}/resumed`;
    const begin = async (mtimeMs: number) => {
      const mtime = { 'x-amz-meta-mtime': (mtimeMs / 1_000).toFixed(3) };
      const begun = await fetch(`${url}?uploads`, { method: 'POST', headers: { ...headers, ...mtime } });
      const id = /<UploadId>(\w+)/.exec(await begun.text())![1];
      const body = Buffer.alloc(64 * 2 ** 20, 'y'); // not what the file has there, to see that it is not sent again
      await fetch(`${url}?partNumber=1&uploadId=${id}`, { method: 'PUT', headers, body });
      return id;
    };
    const firstByte = async () => (await fetch(url, { headers: { ...headers, range: 'bytes=0-0' } })).text();
    const { mtimeMs } = await stat(file);
    const other = await begin(mtimeMs - 5_000);
    await podyard(['volumes', 'cp', file, 'data:resumed'], env);
    expect(await firstByte()).toBe('\0');
    await podyard(['volumes', 'rm', 'data:resumed'], env);
    await begin(mtimeMs);
    await podyard(['volumes', 'cp', file, 'data:resumed'], env);
    expect(await firstByte()).toBe('y');
    const listed = JSON.parse(await podyard(['volumes', 'ls', 'data:/', '--json'], env)) as {
      key: string;
      size: number;
    }[];
    expect(listed.find(({ key }) => key === 'resumed')?.size).toBe(66 * 2 ** 20);
    const left = await (await fetch(`${server.url}/s3/${volume}?uploads`, { headers })).text();
    expect(left.match(/<UploadId>\w+/g)).toEqual([`<UploadId>${other}`]);
  },
  TIME_LIMIT_MS,
);

test(
  'a key without the scope of files is told which it needs',
  async () => {
    const secret = (await podyard(['keys', 'create', 'plain', '--scope', 'all'], env)).split('\n')[0]!;
    const plain = { ...env, PODYARD_API_KEY: secret };
    expect(await runToFailure(['volumes', 'ls', 'data:/'], plain, 3)).toContain(`files/${volume}:read`);
    expect(await runToFailure(['s3-keys', 'create', 'x'], plain, 3)).toContain('cannot grant more');
  },
  TIME_LIMIT_MS,
);

test(
  'a server that is killed in the middle of an upload leaves no file, and the key signs after a restart',
  async () => {
    const { PutObjectCommand, ListObjectsV2Command, S3Client } = await import('@aws-sdk/client-s3');
    const credentials = { accessKeyId: s3.id, secretAccessKey: s3.secret };
    const client = new S3Client({
      endpoint: `${server.url}/s3`,
      region: 'LOCAL-1',
      credentials,
      forcePathStyle: true,
      maxAttempts: 1,
    });
    let isFirst: (() => void) | undefined;
    const first = new Promise<void>((resolve) => {
      isFirst = resolve;
    });
    const { Readable } = await import('node:stream');
    const body = Readable.from(
      (async function* () {
        yield Buffer.alloc(2 ** 20);
        isFirst!();
        await new Promise(() => {}); // the rest never comes
      })(),
    );
    const put = client
      .send(new PutObjectCommand({ Bucket: volume, Key: 'cut', Body: body, ContentLength: 2 ** 21 }))
      .catch((error) => error);
    await first;
    await server.kill();
    expect(await put).toBeInstanceOf(Error);
    await server.start();
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: volume, Prefix: 'cut' }));
    expect(Contents).toEqual([]);
    client.destroy();
  },
  TIME_LIMIT_MS,
);
