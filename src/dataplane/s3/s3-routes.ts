import type { Access } from '../../domain/access/scopes.ts';
import { headBucket, listBuckets, sendLocation, sendVersioning } from './bucket-operations.ts';
import { deleteObject, deleteObjects } from './delete-objects.ts';
import { listObjectsV1, listObjectsV2 } from './listing/list-objects.ts';
import { findVolume, openVolume } from './open-volume.ts';
import { readObject } from './read-object.ts';
import { forward } from './remote/forward.ts';
import type { S3Call, VolumeCall } from './s3-call.ts';
import { S3Error } from './s3-error.ts';
import { headerOf, type S3Request } from './s3-request.ts';
import {
  abortUpload,
  beginUpload,
  completeUpload,
  copyPart,
  sendParts,
  sendUploads,
  uploadPart,
} from './uploads/multipart.ts';
import { copyObject, putObject, refuseUnsupported } from './uploads/write-object.ts';

type Run = (call: VolumeCall) => Promise<void>;

/** Names of S3's parts in a query. Those without a route are not offered. */
const SUBRESOURCES = new Set(
  `accelerate acl analytics attributes cors delete encryption intelligent-tiering inventory legal-hold lifecycle location logging
   metadataConfiguration metadataTable metrics notification object-lock ownershipControls partNumber policy policyStatus
   publicAccessBlock renameObject replication requestPayment restore retention select session tagging torrent uploadId uploads
   versionId versioning versions website`.split(/\s+/),
);

/** Finds the operation of a request and runs it. Throws `NotImplemented` for what is not offered. */
export async function runOperation(call: S3Call): Promise<void> {
  const { request } = call;
  const { bucket, key, method } = request;
  const names = [...request.query.keys()].filter((name) => SUBRESOURCES.has(name)).sort();
  if (bucket === '') {
    if (method === 'GET' && names.length === 0) return listBuckets(call);
    throw notOffered(request, names);
  }
  if (key === '' && method === 'PUT' && names.length === 0) return findVolume(call, bucket, 'read').then(exists);
  const route = (key === '' ? bucketRoute : objectRoute)(request, names.join('&'));
  if (route === null) throw notOffered(request, names);
  const [access, run] = route;
  if (access === 'write') refuseUnsupported(request);
  const { fileServers } = call.deps;
  if (fileServers) return forward(call, await findVolume(call, bucket, access), fileServers);
  return openVolume(call, bucket, access, run);
}

function bucketRoute({ method, query }: S3Request, names: string): [Access, Run] | null {
  switch (`${method} ${names}`) {
    case 'HEAD ':
      return ['read', headBucket];
    case 'GET ':
      return ['read', query.get('list-type') === '2' ? listObjectsV2 : listObjectsV1];
    case 'GET location':
      return ['read', sendLocation];
    case 'GET versioning':
      return ['read', sendVersioning];
    case 'GET uploads':
      return ['read', sendUploads];
    case 'POST delete':
      return ['write', deleteObjects];
    default:
      return null;
  }
}

function objectRoute(request: S3Request, names: string): [Access, Run] | null {
  const isCopy = headerOf(request, 'x-amz-copy-source') !== undefined;
  switch (`${request.method} ${names}`) {
    case 'GET ':
    case 'HEAD ':
      return ['read', readObject];
    case 'PUT ':
      return ['write', isCopy ? copyObject : putObject];
    case 'DELETE ':
      return ['write', deleteObject];
    case 'POST uploads':
      return ['write', beginUpload];
    case 'PUT partNumber&uploadId':
      return ['write', isCopy ? copyPart : uploadPart];
    case 'POST uploadId':
      return ['write', completeUpload];
    case 'DELETE uploadId':
      return ['write', abortUpload];
    case 'GET uploadId':
      return ['read', sendParts];
    default:
      return null;
  }
}

function exists(): never {
  throw new S3Error('BucketAlreadyOwnedByYou', 'The network volume is there already.');
}

function notOffered({ method, key, bucket }: S3Request, names: readonly string[]): S3Error {
  const of = key !== '' ? 'of a key' : bucket !== '' ? 'of a network volume' : 'of the service';
  const what = `${method} ${of}${names.length > 0 ? ` with ${names.join(', ')}` : ''}`;
  return new S3Error(
    'NotImplemented',
    `${what} is not supported: see "S3" in the documentation for what is. Network volumes are made and deleted with Podyard's own API.`,
  );
}
