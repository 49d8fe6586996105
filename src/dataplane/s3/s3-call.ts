import { FairSlots } from '../../core/flow/fair-slots.ts';
import type { UserId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import type { Actor } from '../../domain/access/actor.ts';
import type { Volume } from '../../domain/volumes/volume.ts';
import type { VolumeCharges } from '../../domain/volumes/volume-charges.ts';
import type { listVolumeRows, OwnedVolume } from '../../domain/volumes/volume-store.ts';
import type { Folder } from '../../runtimes/directories/folder.ts';
import type { WorkloadStorage } from '../../runtimes/runtime.ts';
import type { NameCache } from './listing/name-cache.ts';
import type { FileServers } from './remote/file-servers.ts';
import type { S3Request } from './s3-request.ts';
import type { S3Response } from './s3-response.ts';
import { buildXml, XML_HEAD, type XmlElements } from './s3-xml.ts';
import type { SharedFolders } from './shared-folders.ts';
import type { Signing } from './signature.ts';

/** Shared by the operations of S3 in a process. */
export interface S3Deps {
  /** Reads a volume. */
  volumes: { run: (volume: OwnedVolume) => Promise<Volume | undefined> };
  listVolumes: (userId: UserId) => ReturnType<typeof listVolumeRows>;
  charges: Pick<VolumeCharges, 'add'>;
  storage: Pick<WorkloadStorage, 'openFiles'>;
  /** Where the files of volumes are served that this process does not mount; null: it mounts them. */
  fileServers: FileServers | null;
  names: NameCache;
  folders: SharedFolders;
  /** One at a time replaces or removes what a name stands for: two would count the same file as theirs to free. */
  moves: FairSlots;
  logger: Logger;
}

/** Returns slots, one for each name. */
export function oneAtATime(): FairSlots {
  return new FairSlots({ slots: Number.POSITIVE_INFINITY, perOwner: 1 });
}

/** A request whose sender is known. */
export interface S3Call {
  readonly deps: S3Deps;
  readonly request: S3Request;
  readonly res: S3Response;
  readonly actor: Actor;
  /** Null: it came with an API key. */
  readonly signing: Signing | null;
}

/** A request for a volume that its sender may use. */
export interface VolumeCall extends S3Call {
  readonly volume: Volume;
  readonly root: Folder;
}

/** Answers with an XML document, or with its end if `sendHead` has sent the beginning. */
export function sendXml(
  res: S3Response,
  status: number,
  name: string,
  elements: XmlElements,
  headers: Readonly<Record<string, string | number | undefined>> = {},
): void {
  const text = buildXml(name, elements);
  if (res.headersSent) {
    res.end(text);
    return;
  }
  const body = XML_HEAD + text;
  const length = Buffer.byteLength(body);
  res.writeHead(status, { ...headers, 'content-type': 'application/xml', 'content-length': length });
  res.end(body);
}

const KEEP_ALIVE_MS = 10_000;

/** Sends white space while something takes long, so that the client keeps waiting; its failure is then in the document. */
export async function keepingAlive<T>(res: S3Response, work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => {
    if (!res.headersSent) {
      res.writeHead(200, { 'content-type': 'application/xml' });
      res.write(XML_HEAD);
    } else res.write(' ');
  }, KEEP_ALIVE_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
