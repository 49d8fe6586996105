import { UsageError } from '../../core/usage-error.ts';
import type { Pool } from '../../db/pool.ts';
import { verifyChain } from '../../domain/audit/chain.ts';
import type { CliOutput } from '../shared/cli-pieces.ts';
import { jsonText } from '../terminal/terminal-text.ts';

const HEAD = /^[0-9a-f]{64}$/;

/** Prints the chain's newest hash. Throws a sentence if an entry was changed, removed or inserted. */
export async function verifyAudit(
  pool: Pool,
  { head, isJson }: { head: string | undefined; isJson: boolean },
  output: CliOutput,
): Promise<void> {
  if (head !== undefined && !HEAD.test(head))
    throw new UsageError(`--head is '${head}', but must be 64 hexadecimal digits`);
  const report = await verifyChain(pool, head === undefined ? {} : { knownHead: head });
  if (isJson) output.print(jsonText(report));
  for (const { seq, fault } of report.faults) output.note(`Entry ${seq}: ${fault}.`);
  if (report.faults.length > 0) {
    throw new Error('the audit log is not as it was written: compare it with an export or a backup of before');
  }
  output.note(`${report.entries} entries are as they were written; ${report.unsealed} are too new to be in the chain.`);
  if (report.head !== null && !isJson) output.print(report.head);
}
