import { Button } from '@mantine/core';
import { type UseFormReturnType, useForm } from '@mantine/form';
import { useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useNavigate } from 'react-router';
import { notifySuccess } from '../notify.ts';
import { Page } from '../page.tsx';
import { enumLabel } from '../text/labels.ts';
import { FormLayout } from './form-layout.tsx';
import { type Preset, Presets } from './form-parts.tsx';
import type { PriceList } from './hourly-price.ts';
import { Summary, type SummaryText } from './summary.tsx';
import { useDraft } from './use-draft.tsx';
import { usePriceList } from './use-price-list.ts';
import { useSave } from './use-save.ts';

interface NewRecordPageProps<Values extends object> {
  /** Its pages are at `/pods`, and its list is read as `pods`. */
  what: 'pod' | 'cluster';
  initial: Values;
  /** The fields that show the errors of the server. */
  fields: readonly string[];
  presets?: readonly Preset<Values>[];
  summary: (values: Values, list: PriceList) => SummaryText;
  save: (values: Values) => Promise<{ id: string; name: string }>;
  children: (form: UseFormReturnType<Values>) => ReactNode;
}

/** The form of a new record that has a page of its own: it leads to that page. */
export function NewRecordPage<Values extends object>(props: NewRecordPageProps<Values>) {
  const { what, initial, fields, presets, summary, save, children } = props;
  const navigate = useNavigate();
  const queries = useQueryClient();
  const form = useForm<Values>({ mode: 'controlled', initialValues: initial });
  const draft = useDraft(form, `new-${what}`, initial);
  const list = usePriceList();
  const { submit, otherErrors, isSaving } = useSave(form, {
    fields,
    save,
    onSaved: async ({ id, name }) => {
      draft.drop();
      await queries.invalidateQueries({ queryKey: [`${what}s`] });
      notifySuccess(`Created ${name}.`);
      navigate(`/${what}s/${id}`);
    },
  });
  return (
    <Page title={`New ${what}`} parents={[{ to: `/${what}s`, label: enumLabel(`${what}s`) }]}>
      <FormLayout
        onSubmit={submit}
        note={draft.note}
        presets={presets && <Presets form={form} presets={presets} />}
        summary={<Summary text={summary(form.values, list)} />}
        errors={otherErrors}
        actions={
          <Button type="submit" loading={isSaving}>
            Create {what}
          </Button>
        }
      >
        {children(form)}
      </FormLayout>
    </Page>
  );
}
