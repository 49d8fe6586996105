import { Failure } from '../../core/errors.ts';

/** Paths of the image's system, and of the kernel. */
const SYSTEM = ['/bin', '/boot', '/etc', '/lib', '/lib32', '/lib64', '/run', '/sbin', '/usr', '/var', '/var/run'];
const KERNEL = ['/dev', '/proc', '/sys'];
const MAX_BYTES = 4096;

/**
 * Returns a mount path without a trailing slash. Throws `badRequest` if it is not absolute, contains `.` or `..`, would hide
 * the image's system, or is in one of the kernel's file systems.
 */
export function checkMountPath(path: string): string {
  const refuse = (why: string) => new Failure('badRequest', `mounts: the path '${path.slice(0, 200)}' ${why}`);
  if (!path.startsWith('/')) throw refuse('must be absolute');
  if (Buffer.byteLength(path) > MAX_BYTES) throw refuse('is too long');
  if (/[\u0000-\u001f\u007f]/.test(path)) throw refuse('holds a control character');
  const parts = path.split('/').filter(Boolean);
  if (parts.some((part) => part === '.' || part === '..')) throw refuse("must not hold '.' or '..'");
  const plain = `/${parts.join('/')}`;
  if (plain === '/' || SYSTEM.includes(plain)) throw refuse('belongs to the system of the image');
  const isKernel = KERNEL.some((folder) => plain === folder || plain.startsWith(`${folder}/`));
  if (isKernel) throw refuse('belongs to the kernel');
  return plain;
}
