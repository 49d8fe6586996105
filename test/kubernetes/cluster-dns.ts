// Imitates the DNS of a cluster, which ours lacks: answers the names of pods behind headless Services, and no others.
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { KubeClient } from './kube-client.ts';

const HEADER_BYTES = 12;
const TYPE_A = 1;
const NAME = /^([^.]+)\.([^.]+)\.([^.]+)\.svc\.cluster\.local$/;

interface Endpoints {
  subsets?: { addresses?: Address[]; notReadyAddresses?: Address[] }[];
}
interface Address {
  ip: string;
  hostname?: string;
}

export class ClusterDns {
  readonly #socket: Socket;

  /** Listens where the kubelet tells pods that the DNS is. */
  static async start(address: string, client: KubeClient): Promise<ClusterDns> {
    const socket = createSocket('udp4');
    socket.on('message', (query, { address: host, port }) => {
      void answer(query, client).then((message) => socket.send(message, port, host));
    });
    socket.bind(53, address);
    await once(socket, 'listening');
    return new ClusterDns(socket);
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  async stop(): Promise<void> {
    const closed = once(this.#socket, 'close');
    this.#socket.close();
    await closed;
  }
}

async function answer(query: Buffer, client: KubeClient): Promise<Buffer> {
  const { name, end } = questionOf(query);
  const address = await findAddress(name, client).catch(() => undefined);
  const isA = query.readUInt16BE(end - 4) === TYPE_A;
  const header = Buffer.from(query.subarray(0, HEADER_BYTES));
  header.writeUInt16BE(address === undefined ? 0x8583 : 0x8580, 2); // NXDOMAIN, or no error; both authoritative
  const count = address !== undefined && isA ? 1 : 0;
  for (const [at, value] of [
    [4, 1],
    [6, count],
    [8, 0],
    [10, 0],
  ] as const)
    header.writeUInt16BE(value, at);
  const question = query.subarray(HEADER_BYTES, end);
  if (count === 0) return Buffer.concat([header, question]);
  const record = Buffer.from([
    0xc0,
    HEADER_BYTES,
    0,
    TYPE_A,
    0,
    1,
    0,
    0,
    0,
    1,
    0,
    4,
    ...address!.split('.').map(Number),
  ]);
  return Buffer.concat([header, question, record]);
}

/** `end`: where the question with its type and class ends. */
function questionOf(query: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 5 };
}

async function findAddress(name: string, client: KubeClient): Promise<string | undefined> {
  const [, hostname, service, namespace] = NAME.exec(name) ?? [];
  if (hostname === undefined) return undefined;
  const found = await client.get(`/api/v1/namespaces/${namespace}/endpoints/${service}`);
  const { subsets = [] } = found as unknown as Endpoints;
  const addresses = subsets.flatMap((one) => [...(one.addresses ?? []), ...(one.notReadyAddresses ?? [])]);
  return addresses.find((one) => one.hostname === hostname)?.ip;
}
