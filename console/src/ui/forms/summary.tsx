import { Text, Title } from '@mantine/core';
import { Hint } from '../hint.tsx';
import { visibleText } from '../text/visible-text.ts';
import type { Change } from './changes.ts';

/** The price and the effect of a form's values, as text. */
export interface SummaryText {
  /** Absent: the record itself costs nothing. Null: not known yet, and `priceNote` says why. */
  price?: string | null;
  /** The price's unit: `per worker and hour`. */
  priceNote?: string;
  /** Lines about what would start, its cost, and what is free. */
  facts: readonly { label: string; value: string }[];
  /** Only for an existing record. */
  changes?: readonly Change[];
  /** The effect of the changes on running workers. */
  effect?: string;
  /** Why it would not work, or not yet. */
  warning?: string | null;
}

/** Beside the fields of a form: the price, what would start, and what an edit changes. Pages with several name each. */
export function Summary({ text, label = 'Summary' }: { text: SummaryText; label?: string }) {
  const { price, priceNote, facts, changes, effect, warning } = text;
  return (
    <section className="summary" aria-label={label}>
      {price !== undefined && (
        <div className="summary-price">
          {price ?? '–'}
          <Hint size="xs">{priceNote}</Hint>
        </div>
      )}
      {facts.length > 0 && (
        <dl style={{ marginTop: price === undefined ? 0 : 12 }}>
          {facts.map(({ label, value }) => (
            <div key={label} style={{ display: 'contents' }}>
              <dt>{label}</dt>
              <dd>{visibleText(value)}</dd>
            </div>
          ))}
        </dl>
      )}
      {warning && (
        <Text size="sm" mt="xs" className="key-warning" role="status">
          {visibleText(warning)}
        </Text>
      )}
      {changes && <Changes changes={changes} effect={effect} />}
    </section>
  );
}

function Changes({ changes, effect }: { changes: readonly Change[]; effect: string | undefined }) {
  return (
    <>
      <Title order={2} size="h5" mt="md" mb={4}>
        {changes.length === 0 ? 'No changes' : changes.length === 1 ? '1 change' : `${changes.length} changes`}
      </Title>
      <ul>
        {changes.map(({ label, before, after }) => (
          <li key={label}>
            <Hint size="xs">{label}</Hint>
            <del>{before}</del> → <ins>{after}</ins>
          </li>
        ))}
      </ul>
      {effect && changes.length > 0 && <Hint size="xs">{effect}</Hint>}
    </>
  );
}
