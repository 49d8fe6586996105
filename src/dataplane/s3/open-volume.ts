import type { VolumeId } from '../../core/ids.ts';
import { isPermitted } from '../../domain/access/actor.ts';
import { PERMISSIONS } from '../../domain/access/permissions.ts';
import type { Access } from '../../domain/access/scopes.ts';
import type { Volume } from '../../domain/volumes/volume.ts';
import type { S3Call, VolumeCall } from './s3-call.ts';
import { noSuchBucket, onlyFromPods, S3Error } from './s3-error.ts';

const VOLUME_ID = /^[\w-]{1,64}$/;

/**
 * Finds the volume of a request. Throws `AccessDenied` if the key does not permit it, whether it exists or not, and `NoSuchBucket` if
 * the user has none.
 */
export async function findVolume({ deps, actor }: S3Call, id: string, access: Access): Promise<Volume> {
  const permission = access === 'read' ? PERMISSIONS.readFiles({ id }) : PERMISSIONS.writeFiles({ id });
  if (!isPermitted(actor, permission))
    throw new S3Error(
      'AccessDenied',
      `The key does not permit this: it needs the scope files:${access}, or files/${id}:${access}.`,
    );
  if (!VOLUME_ID.test(id)) throw noSuchBucket(); // the database refuses some texts, and others' requests with them
  const volume = await deps.volumes.run({ userId: actor.userId, id: id as VolumeId });
  if (volume === undefined) throw noSuchBucket();
  return volume;
}

/** Opens a volume for a request and closes it afterwards. Throws as `findVolume`. */
export async function openVolume<T>(
  call: S3Call,
  id: string,
  access: Access,
  use: (call: VolumeCall) => Promise<T>,
): Promise<T> {
  const volume = await findVolume(call, id, access);
  const { storage, folders } = call.deps;
  const open = storage.openFiles?.bind(storage);
  if (open === undefined || process.platform !== 'linux') throw onlyFromPods('this server does not run on Linux');
  const owner = { kind: 'volume', dataCenterId: volume.dataCenterId, id } as const;
  return folders.use(
    id,
    () => open(owner, volume),
    (root) => use({ ...call, volume, root }),
  );
}
