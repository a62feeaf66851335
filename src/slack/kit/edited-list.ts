import type { KnownBlock } from '@slack/types';
import type { z } from 'zod';
import type { Field, FieldErrors, Form, FormOrigin, FormValues } from './form.ts';
import { fieldsOf, readForm } from './form.ts';

/**
 * A list that people add to and edit, declared once: one form for a new entry and for one that is there, which the subject of the
 * form identifies. What it shows, reads and answers follows. No entry is a new one; no call is before somebody opens the form.
 */
interface EditedList<Name extends string, Call, Sent, Entry, Declared extends z.ZodObject, Outcome> {
  /** Its fields are those of a new entry, unless others are given. */
  readonly form: Omit<Form<Name>, 'fields'> & Partial<Pick<Form, 'fields'>>;
  fields(entry: Entry | undefined, values: FormValues, call: Call | undefined): Declared;
  /** The fields as they are shown, where the workspace has a say in them. */
  shown?(fields: Field[], values: FormValues, call: Call): Promise<Field[]>;
  find(call: Call, subject: string): Promise<Entry | undefined>;
  /** What stands in the form when it opens. */
  values(entry: Entry | undefined, call: Call): FormValues | Promise<FormValues>;
  intro?(entry: Entry | undefined, call: Call): readonly KnownBlock[] | Promise<readonly KnownBlock[]>;
  /** Said at a field when the entry is not there any more. */
  readonly gone: FieldErrors;
  /** Takes an entry, new or in the place of the one that was edited. It looks again at who may. */
  save(call: Sent, given: z.output<Declared>, entry: Entry | undefined): Promise<Outcome>;
}

/** The form of a list. */
export function formOfList<
  const Name extends string,
  Call,
  Sent extends Call & { readonly values: FormValues; readonly origin: FormOrigin },
  Entry,
  Declared extends z.ZodObject,
  Outcome,
>({ form, fields, shown, find, ...list }: EditedList<Name, Call, Sent, Entry, Declared, Outcome>) {
  const entryOf = async (call: Call, { subject }: FormOrigin) =>
    subject === undefined ? undefined : find(call, subject);
  return {
    form: { fields: fieldsOf(fields(undefined, {}, undefined)), ...form },
    async render(call: Call, origin: FormOrigin, given: FormValues) {
      const entry = await entryOf(call, origin);
      const values = { ...(await list.values(entry, call)), ...given };
      const declared = fieldsOf(fields(entry, values, call));
      const intro = (await list.intro?.(entry, call)) ?? [];
      return {
        form: { ...form, fields: (await shown?.(declared, values, call)) ?? declared },
        values,
        intro,
      };
    },
    async submit(call: Sent): Promise<Outcome | { readonly errors: FieldErrors }> {
      const entry = await entryOf(call, call.origin);
      if (call.origin.subject !== undefined && entry === undefined) return { errors: list.gone };
      const read = readForm(fields(entry, call.values, call), call.values);
      return 'errors' in read ? read : list.save(call, read.value, entry);
    },
  };
}
