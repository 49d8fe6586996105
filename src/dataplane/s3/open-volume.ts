import type { VolumeId } from '../../core/ids.ts';
import { isPermitted } from '../../domain/access/actor.ts';
import { PERMISSIONS } from '../../domain/access/permissions.ts';
import type { Access } from '../../domain/access/scopes.ts';
import type { S3Call, VolumeCall } from './s3-call.ts';
import { noSuchBucket, S3Error } from './s3-error.ts';

const VOLUME_ID = /^[\w-]{1,64}$/;

/**
 * Opens a volume for a request and closes it afterwards. Throws `AccessDenied` if the key does not permit it, whether it exists or not,
 * and `NoSuchBucket` if the user has none.
 */
export async function openVolume<T>(
  call: S3Call,
  id: string,
  access: Access,
  use: (call: VolumeCall) => Promise<T>,
): Promise<T> {
  const { deps, actor } = call;
  const permission = access === 'read' ? PERMISSIONS.readFiles({ id }) : PERMISSIONS.writeFiles({ id });
  if (!isPermitted(actor, permission))
    throw new S3Error(
      'AccessDenied',
      `The key does not permit this: it needs the scope files:${access}, or files/${id}:${access}.`,
    );
  if (!VOLUME_ID.test(id)) throw noSuchBucket(); // the database refuses some texts, and others' requests with them
  const volume = await deps.volumes.run({ userId: actor.userId, id: id as VolumeId });
  if (volume === undefined) throw noSuchBucket();
  const { openFiles } = deps.storage;
  if (openFiles === undefined || process.platform !== 'linux') {
    const why = openFiles
      ? 'this server does not run on Linux'
      : 'this server keeps them in the cluster, as claims that it does not mount';
    const text = `Files of network volumes can be reached from their pods only: ${why}. Start a pod with the volume, and copy with: podyard cp <file> <pod>:/workspace/`;
    throw new S3Error('NotImplemented', text);
  }
  const root = await openFiles.call(deps.storage, { kind: 'volume', dataCenterId: volume.dataCenterId, id }, volume);
  try {
    return await use({ ...call, volume, root });
  } finally {
    await root.close();
  }
}
