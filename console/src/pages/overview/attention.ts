import type { Schemas } from '../../api/client.ts';
import { formatCost, formatUsd } from '../../ui/text/format.ts';
import { shortReason } from '../../ui/text/reason.ts';
import { limitBars, type UserLimits } from '../limits/limit-values.ts';
import type { NameOf } from './endpoint-names.tsx';

/** A limit is reported from this share on. */
const NEARLY_USED_PERCENT = 90;

export interface AttentionItem {
  key: string;
  /** `broken`: it does not work. `scarce`: it waits for something, or soon will. */
  severity: 'broken' | 'scarce';
  /** The record that it is about. */
  what: string;
  /** The name of the record; null: it is on its way. Absent for what concerns everything. */
  name?: string | null;
  reason: string;
  /** Where to look into it. */
  to: string;
  since?: string | null;
}

export interface AttentionSources {
  /** The endpoints that are not at rest, or have a warning. */
  figures: readonly Pick<Schemas['EndpointFigures'], 'id' | 'state' | 'reason' | 'since' | 'warnings'>[];
  nameOf: NameOf;
  pods: readonly Pick<Schemas['Pod'], 'id' | 'name' | 'status' | 'reason'>[];
  limits: UserLimits | undefined;
  /** Problems of the installation; only admins see them. */
  problems: readonly string[];
  budgets: readonly Pick<Schemas['Budget'], 'id' | 'endpointName' | 'amount' | 'spent' | 'isStopped' | 'passed'>[];
}

/** Returns what needs attention, broken things first. */
export function attentionItems(sources: AttentionSources): AttentionItem[] {
  return [
    ...sources.problems.map(problemItem),
    ...endpointItems(sources, 'FAILING'),
    ...sources.pods.filter(({ status }) => status === 'ERROR').map(podItem),
    ...sources.budgets.filter(({ isStopped }) => isStopped).map(budgetItem),
    ...endpointItems(sources, 'WAITING_FOR_CAPACITY'),
    ...warningItems(sources),
    ...limitItems(sources.limits),
    ...sources.budgets.filter(({ isStopped, passed }) => !isStopped && passed.length > 0).map(budgetItem),
  ];
}

function problemItem(problem: string): AttentionItem {
  return { key: problem, severity: 'broken', what: 'Installation', reason: problem, to: '/catalog' };
}

function endpointItems(
  { figures, nameOf }: AttentionSources,
  wanted: 'FAILING' | 'WAITING_FOR_CAPACITY',
): AttentionItem[] {
  return figures
    .filter(({ state }) => state === wanted)
    .map(({ id, state, reason, since }) => ({
      key: id,
      severity: state === 'FAILING' ? ('broken' as const) : ('scarce' as const),
      what: state === 'FAILING' ? 'Endpoint fails' : 'Endpoint waits for capacity',
      name: nameOf(id),
      reason: shortReason(reason ?? ''),
      to: `/endpoints/${id}`,
      since,
    }));
}

function warningItems({ figures, nameOf }: AttentionSources): AttentionItem[] {
  return figures.flatMap(({ id, warnings }) =>
    warnings.map((reason) => ({
      key: `${id} ${reason}`,
      severity: 'scarce' as const,
      what: 'Endpoint warns',
      name: nameOf(id),
      reason: shortReason(reason),
      to: `/endpoints/${id}`,
    })),
  );
}

function podItem({ id, name, reason }: AttentionSources['pods'][number]): AttentionItem {
  const item = { key: id, severity: 'broken' as const, what: 'Pod failed', name, to: `/pods/${id}` };
  return { ...item, reason: shortReason(reason ?? '') };
}

function budgetItem(budget: AttentionSources['budgets'][number]): AttentionItem {
  const { id, endpointName, amount, spent, isStopped } = budget;
  const use = `${formatCost(Number(spent))} of ${formatUsd(Number(amount))} are used this month`;
  return {
    key: id,
    severity: isStopped ? 'broken' : 'scarce',
    what: 'Budget',
    ...(endpointName !== null && { name: endpointName }),
    reason: isStopped ? `${use}; nothing is started` : use,
    to: '/billing',
  };
}

/** Quotas may be exceeded by borrowing, so only limits count. */
function limitItems(limits: UserLimits | undefined): AttentionItem[] {
  if (limits === undefined) return [];
  return limitBars(limits)
    .filter(({ name, percent }) => percent !== null && percent >= NEARLY_USED_PERCENT && !name.endsWith('Quota'))
    .map(({ name, label, text, isFull }) => ({
      key: name,
      severity: 'scarce' as const,
      what: isFull ? 'Limit reached' : 'Limit nearly reached',
      reason: `${label}: ${text}`,
      to: '/limits',
    }));
}
