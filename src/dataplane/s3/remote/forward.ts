import type { IncomingMessage } from 'node:http';
import { request as httpRequest, refuseUpgrade } from '../../../core/node-http.ts';
import type { Volume } from '../../../domain/volumes/volume.ts';
import type { S3Call } from '../s3-call.ts';
import { S3Error } from '../s3-error.ts';
import { readPayload } from '../uploads/payload.ts';
import type { FileServers } from './file-servers.ts';

/** Headers of a request to a file server: its secret, and the volume as the database has it. */
export const TOKEN_HEADER = 'x-podyard-files';
export const VOLUME_HEADER = 'x-podyard-volume';

/** The headers that operations on a volume read. How the body came, and who sent it, was checked here. */
const SENT =
  /^(?:range|content-type|if-.+|x-amz-copy-source(?:-.+)?|x-amz-metadata-directive|x-amz-meta-mtime|x-amz-server-side-encryption.*|x-amz-object-lock.*|x-amz-tagging)$/;
/** Headers of the connection, and those that are replaced. */
const NOT_RETURNED = new Set(['connection', 'keep-alive', 'date', 'transfer-encoding', 'x-amz-request-id']);

/** Has a request to a volume answered by the program that mounts it. */
export async function forward(call: S3Call, volume: Volume, servers: FileServers): Promise<void> {
  const { request, res, signing } = call;
  const { req, method } = request;
  const hasBody = method === 'PUT' || method === 'POST';
  const payload = hasBody ? readPayload(request, signing) : null;
  const token = await servers.tokenOf(volume.id);
  const socket = await servers.connect(volume.id);
  const { id, sizeGb, dataCenterId, usedBytes } = volume;
  const outgoing = httpRequest({
    ...{ method, path: req.url!, createConnection: () => socket },
    headers: {
      ...Object.fromEntries(Object.entries(req.headers).filter(([name]) => SENT.test(name))),
      ...(payload && { 'content-length': payload.length }),
      [TOKEN_HEADER]: token,
      [VOLUME_HEADER]: JSON.stringify({ id, sizeGb, dataCenterId, usedBytes }),
    },
  });
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve);
    refuseUpgrade(outgoing).on('error', (cause) => reject(lost(cause)));
  });
  answered.catch(() => {}); // awaited below, once the body is sent
  try {
    if (payload) {
      for await (const piece of payload.bytes()) await written(outgoing, piece);
    }
    outgoing.end();
    const answer = await answered;
    const headers = Object.entries(answer.headers).filter(([name]) => !NOT_RETURNED.has(name));
    res.writeHead(answer.statusCode!, {
      ...(Object.fromEntries(headers) as Record<string, string>),
      ...(answer.statusCode === 200 && payload?.checksumHeaders()),
    });
    await send(answer, res);
  } finally {
    outgoing.destroy();
  }
}

/** Resolves once the piece has left: its buffer is used again. */
function written(outgoing: ReturnType<typeof httpRequest>, piece: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    outgoing.write(piece, (error) => (error ? reject(lost(error)) : resolve()));
  });
}

/** Cuts the connection where the answer ends early: the client must not take a part for the whole. */
async function send(answer: IncomingMessage, res: S3Call['res']): Promise<void> {
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      if (res.isOver) return;
      if (!res.write(chunk)) await res.taken();
    }
    res.end();
  } catch {
    res.destroy();
  }
}

function lost(cause: unknown): S3Error {
  const text = 'The program that serves the files of this network volume ended meanwhile: try again.';
  return new S3Error('SlowDown', text, { cause });
}
