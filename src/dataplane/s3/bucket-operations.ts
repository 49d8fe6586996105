import { isPermitted } from '../../domain/access/actor.ts';
import { PERMISSIONS } from '../../domain/access/permissions.ts';
import { type S3Call, sendXml, type VolumeCall } from './s3-call.ts';

/** ListBuckets: the volumes that the key may read. */
export async function listBuckets({ deps, actor, res }: S3Call): Promise<void> {
  const volumes = (await deps.listVolumes(actor.userId)).filter(({ id }) =>
    isPermitted(actor, PERMISSIONS.readFiles({ id })),
  );
  sendXml(res, 200, 'ListAllMyBucketsResult', {
    Owner: { ID: actor.userId, DisplayName: actor.userId },
    Buckets: {
      Bucket: volumes.map(({ id, dataCenterId, createdAt }) => ({
        ...{ Name: id, CreationDate: createdAt.toISOString(), BucketRegion: dataCenterId },
      })),
    },
  });
}

/** HeadBucket. */
export async function headBucket({ res, volume }: VolumeCall): Promise<void> {
  res.writeHead(200, { 'x-amz-bucket-region': volume.dataCenterId, 'content-type': 'application/xml' });
  res.end();
}

/** GetBucketLocation. */
export async function sendLocation({ res, volume }: VolumeCall): Promise<void> {
  sendXml(res, 200, 'LocationConstraint', { '#text': volume.dataCenterId });
}

/** Clients ask whether files have versions before they delete some: they have none. */
export async function sendVersioning({ res }: VolumeCall): Promise<void> {
  sendXml(res, 200, 'VersioningConfiguration', {});
}
