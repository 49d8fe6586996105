import { Failure } from '../../core/errors.ts';

/** contract.md, "Limits": what a pod exposes through the proxy, and so what a template may ask for. */
const MAX_HTTP_PORTS = 10;

/** Throws `badRequest` for an item that is there twice. */
export function checkRepeatedPort(ports: readonly string[]): void {
  const repeated = ports.find((port, i) => ports.indexOf(port) !== i);
  if (repeated !== undefined) throw new Failure('badRequest', `ports: '${repeated}' is listed more than once`);
}

/** Throws `badRequest` for more HTTP ports than a pod may expose. */
export function checkHttpPortCount(ports: readonly string[]): void {
  const count = ports.filter((port) => port.endsWith('/http')).length;
  if (count <= MAX_HTTP_PORTS) return;
  throw new Failure('badRequest', `ports: ${count} HTTP ports are listed, but at most ${MAX_HTTP_PORTS} are allowed`);
}
