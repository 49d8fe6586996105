import { expect, test } from 'vitest';
import { silentLogger } from '../../core/logger.ts';
import { findQuotaFileSystem, quotaCommands, StorageQuotas } from './storage-quotas.ts';

const MOUNTS = [
  '27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard',
  '40 27 8:1 / /srv/storage rw,relatime shared:1 - ext4 /dev/sda1 rw,prjquota',
  '41 27 8:2 / /srv/big\\040disk rw - xfs /dev/sdb rw,attr2,prjquota',
  '42 40 8:3 / /srv/storage/plain rw - xfs /dev/sdc rw,noquota',
].join('\n');

test('finds the file system of a directory, if it has project quotas', () => {
  expect(findQuotaFileSystem(MOUNTS, '/srv/storage/a/b')).toEqual({ type: 'ext4', mountPoint: '/srv/storage' });
  expect(findQuotaFileSystem(MOUNTS, '/srv/big disk/a')).toEqual({ type: 'xfs', mountPoint: '/srv/big disk' });
  for (const path of ['/srv/storage/plain/a', '/srv/storages', '/home']) {
    expect([path, findQuotaFileSystem(MOUNTS, path)]).toEqual([path, null]);
  }
  expect(findQuotaFileSystem('', '/srv')).toBeNull();
});

test('a directory gets its own stable project, limited to its size and the files that belong to it', () => {
  const [give, limit] = quotaCommands({ type: 'ext4', mountPoint: '/srv' }, '/srv/a', 10);
  const project = give![3]!;
  expect(Number(project)).toBeGreaterThanOrEqual(2 ** 30);
  expect(Number(project)).toBeLessThan(2 ** 31);
  expect(give).toEqual(['chattr', '+P', '-p', project, '/srv/a']);
  expect(limit).toEqual(['setquota', '-P', project, '0', String(10 * 2 ** 20), '0', '655360', '/srv']);
  expect(quotaCommands({ type: 'ext4', mountPoint: '/srv' }, '/srv/b', 10)[0]![3]).not.toBe(project);
  expect(quotaCommands({ type: 'xfs', mountPoint: '/srv' }, '/srv/a', 10)).toEqual([
    ['xfs_quota', '-x', '-c', `project -s -p "/srv/a" ${project}`, '/srv'],
    ['xfs_quota', '-x', '-c', `limit -p bhard=10g ihard=655360 ${project}`, '/srv'],
  ]);
});

test.runIf(process.getuid?.() === 0)(
  'a limit is set once, again when it grows, and again after a failure',
  async () => {
    const commands: string[] = [];
    let isBroken = true;
    const quotas = new StorageQuotas({
      root: '/srv/storage',
      logger: silentLogger,
      readMounts: async () => MOUNTS,
      run: async (command) => {
        if (isBroken) throw new Error('setquota: not found');
        commands.push(command);
      },
    });
    await quotas.limit('/srv/storage/a', 10);
    isBroken = false;
    for (const size of [10, 10, 20]) await quotas.limit('/srv/storage/a', size);
    expect(commands).toEqual(['chattr', 'setquota', 'chattr', 'setquota']);
  },
);
