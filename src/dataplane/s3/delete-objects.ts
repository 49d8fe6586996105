import { rmdir, unlink } from 'node:fs/promises';
import { codeOf, within } from '../../runtimes/directories/folder.ts';
import { parseKey } from './object-key.ts';
import { sendXml, type VolumeCall } from './s3-call.ts';
import { fromFileError, S3Error } from './s3-error.ts';
import { malformedXml, parseXml } from './s3-xml.ts';
import { readPayload, readSmallBody } from './uploads/payload.ts';

const MAX_KEYS = 1_000;
const MAX_BODY_BYTES = 2 * 2 ** 20;
/** Nothing to delete there: S3 does not tell. A directory that is not empty stays. */
const NOTHING = ['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ENOTEMPTY'];

/** DeleteObject. */
export async function deleteObject(call: VolumeCall): Promise<void> {
  await remove(call, call.request.key);
  call.res.writeHead(204, {});
  call.res.end();
}

/** DeleteObjects: up to 1,000 keys, each with its own outcome. */
export async function deleteObjects(call: VolumeCall): Promise<void> {
  const { request, res, signing } = call;
  const document = parseXml(await readSmallBody(readPayload(request, signing), MAX_BODY_BYTES), 'Delete');
  const objects = (document.Object ?? []) as Record<string, unknown>[];
  if (objects.length === 0 || objects.length > MAX_KEYS) throw malformedXml(`must name 1 to ${MAX_KEYS} objects`);
  const [deleted, errors]: [{ Key: string }[], { Key: string; Code: string; Message: string }[]] = [[], []];
  for (const { Key: key, ...conditions } of objects) {
    if (typeof key !== 'string') throw malformedXml('has an object without a key');
    try {
      refuseConditions(conditions);
      await remove(call, key);
      deleted.push({ Key: key });
    } catch (thrown) {
      const error = fromFileError(thrown);
      if (!(error instanceof S3Error)) throw thrown;
      errors.push({ Key: key, Code: error.code, Message: error.message });
    }
  }
  const isQuiet = document.Quiet === 'true';
  sendXml(res, 200, 'DeleteResult', { ...(isQuiet ? {} : { Deleted: deleted }), Error: errors });
}

/** Throws for a version that files do not have, or a condition: without it, another content would be deleted. */
function refuseConditions({ VersionId: version = 'null', ...conditions }: Record<string, unknown>): void {
  const [found] = version === 'null' ? Object.keys(conditions) : ['VersionId'];
  if (found !== undefined) throw new S3Error('NotImplemented', `${found} is not supported: a key is deleted as it is.`);
}

/** Removes a file, or an empty directory if the key ends with a slash. Directories above stay: pods may work in them. */
async function remove({ deps: { charges, moves }, root, volume }: VolumeCall, text: string): Promise<void> {
  const { parents, name, isDirectory } = parseKey(text);
  let freedBytes = 0;
  const work = within(root, parents, false, async (folder) => {
    if (isDirectory) return rmdir(folder.at(name));
    await moves.run(`${volume.id}/${text}`, async () => {
      const before = await folder.look(name);
      if (before.isDirectory()) return;
      await unlink(folder.at(name));
      if (before.isFile() && before.nlink === 1n) freedBytes = Number(before.size);
    });
  });
  await work.catch((error) => {
    if (!NOTHING.includes(codeOf(error) ?? '')) throw error;
  });
  if (freedBytes > 0) await charges.add(volume.id, -freedBytes);
}
