import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { arch, tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { PrivateRegistry } from './private-registry.ts';

const DOCKER = 'application/vnd.docker';

/** Uploads an image of `layers` layers that no machine has yet, each of `bytes` random bytes. */
export async function uploadRandomImage(
  registry: PrivateRegistry,
  repository: string,
  { tag, layers, bytes }: { tag: string; layers: number; bytes: number },
): Promise<void> {
  const { username, password } = registry.auth;
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  const call = async (method: string, url: string, type: string, body?: Buffer<ArrayBuffer>) => {
    const headers = { authorization, 'content-type': type };
    const answer = await fetch(url, { method, headers, ...(body && { body }) });
    if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${await answer.text()}`);
    return answer;
  };
  const place = `http://${registry.host}/v2/${repository}`;
  const upload = async (mediaType: string, blob: Buffer<ArrayBuffer>) => {
    const digest = digestOf(blob);
    const begun = await call('POST', `${place}/blobs/uploads/`, 'application/octet-stream');
    const url = new URL(begun.headers.get('location')!, place);
    url.searchParams.set('digest', digest);
    await call('PUT', url.href, 'application/octet-stream', blob);
    return { mediaType, size: blob.length, digest };
  };
  const tars = Array.from({ length: layers }, (_, i) => layerOf(`part-${i}`, bytes));
  const config = {
    ...{ architecture: arch() === 'x64' ? 'amd64' : arch(), os: 'linux', config: { Cmd: ['/none'] } },
    rootfs: { type: 'layers', diff_ids: tars.map(digestOf) },
    history: tars.map(() => ({ created_by: 'a test' })),
  };
  const manifest = {
    schemaVersion: 2,
    mediaType: `${DOCKER}.distribution.manifest.v2+json`,
    config: await upload(`${DOCKER}.container.image.v1+json`, Buffer.from(JSON.stringify(config))),
    layers: await Promise.all(
      tars.map((tar) => upload(`${DOCKER}.image.rootfs.diff.tar.gzip`, Buffer.from(gzipSync(tar)))),
    ),
  };
  await call('PUT', `${place}/manifests/${tag}`, manifest.mediaType, Buffer.from(JSON.stringify(manifest)));
}

function digestOf(blob: Buffer): string {
  return `sha256:${createHash('sha256').update(blob).digest('hex')}`;
}

function layerOf(name: string, bytes: number): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'podyard-layer-'));
  try {
    writeFileSync(join(folder, name), randomBytes(bytes));
    return execFileSync('tar', ['-cf', '-', '-C', folder, name], { maxBuffer: 2 * bytes + 2 ** 20 });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
