import { type ObjectKey, parseKey } from './object-key.ts';
import { openVolume } from './open-volume.ts';
import { type OpenObject, openObject } from './read-object.ts';
import type { VolumeCall } from './s3-call.ts';
import { S3Error } from './s3-error.ts';
import { decode, headerOf } from './s3-request.ts';

/** Opens what `x-amz-copy-source` names, of any volume that the sender may read, and closes it afterwards. */
export async function withSource<T>(
  call: VolumeCall,
  use: (source: OpenObject, volumeId: string, key: ObjectKey) => Promise<T>,
): Promise<T> {
  const [path, version] = headerOf(call.request, 'x-amz-copy-source')!.split('?');
  if (version !== undefined) throw new S3Error('NotImplemented', 'Files have no versions.');
  const text = decode(path!).replace(/^\//, '');
  const slash = text.indexOf('/');
  if (slash < 1) throw new S3Error('InvalidArgument', 'x-amz-copy-source must be <network volume id>/<key>.');
  const key = parseKey(text.slice(slash + 1));
  return openVolume(call, text.slice(0, slash), 'read', async ({ root, volume }) => {
    const source = await openObject(root, key);
    try {
      return await use(source, volume.id, key);
    } finally {
      await source.file?.close();
    }
  });
}
