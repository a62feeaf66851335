import type { KnownBlock } from '@slack/types';
import type { z } from 'zod';
import type { Field, FieldErrors, Form, FormOrigin, FormValues } from './form.ts';
import { readForm, toFields } from './form.ts';

/**
 * A list that can be edited, declared once. A single form adds an entry, or edits the entry in the form's subject.
 * Display, parsing and replies follow from the declaration. Without an entry, a new one is added. Without a call, the
 * form isn't open yet.
 */
interface EditedList<Name extends string, Call, Sent, Entry, Declared extends z.ZodObject, Outcome> {
  /** Default: the fields of a new entry. */
  readonly form: Omit<Form<Name>, 'fields'> & Partial<Pick<Form, 'fields'>>;
  fields(entry: Entry | undefined, values: FormValues, call: Call | undefined): Declared;
  /** Overrides fields for the workspace. */
  shown?(fields: Field[], values: FormValues, call: Call): Promise<Field[]>;
  find(call: Call, subject: string): Promise<Entry | undefined>;
  values(entry: Entry | undefined, call: Call): FormValues | Promise<FormValues>;
  intro?(entry: Entry | undefined, call: Call): readonly KnownBlock[] | Promise<readonly KnownBlock[]>;
  readonly gone: FieldErrors;
  /** Saves a new or edited entry. Checks permissions again. */
  save(call: Sent, given: z.output<Declared>, entry: Entry | undefined): Promise<Outcome>;
}

export function createListForm<
  const Name extends string,
  Call,
  Sent extends Call & { readonly values: FormValues; readonly origin: FormOrigin },
  Entry,
  Declared extends z.ZodObject,
  Outcome,
>({ form, fields, shown, find, ...list }: EditedList<Name, Call, Sent, Entry, Declared, Outcome>) {
  const findEntry = async (call: Call, { subject }: FormOrigin) =>
    subject === undefined ? undefined : find(call, subject);
  return {
    form: { fields: toFields(fields(undefined, {}, undefined)), ...form },
    async render(call: Call, origin: FormOrigin, given: FormValues) {
      const entry = await findEntry(call, origin);
      const values = { ...(await list.values(entry, call)), ...given };
      const declared = toFields(fields(entry, values, call));
      const intro = (await list.intro?.(entry, call)) ?? [];
      return {
        form: { ...form, fields: (await shown?.(declared, values, call)) ?? declared },
        values,
        intro,
      };
    },
    async submit(call: Sent): Promise<Outcome | { readonly errors: FieldErrors }> {
      const entry = await findEntry(call, call.origin);
      if (call.origin.subject !== undefined && entry === undefined) return { errors: list.gone };
      const read = readForm(fields(entry, call.values, call), call.values);
      return 'errors' in read ? read : list.save(call, read.value, entry);
    },
  };
}
