import type { KnownBlock } from '@slack/types';
import type { z } from 'zod';
import type { Field, FieldErrors, Form, FormOrigin, FormValues } from './form.ts';
import { parseForm, toFields } from './form.ts';

/**
 * A list whose form adds an entry, or edits the entry that is the form's subject. `entry` is undefined for a
 * new entry. `call` is undefined until the form opens.
 */
interface EditableList<Name extends string, Call, Submission, Entry, Schema extends z.ZodObject, Outcome> {
  /** By default, `fields` are those of a new entry. */
  readonly form: Omit<Form<Name>, 'fields'> & Partial<Pick<Form, 'fields'>>;
  createSchema(entry: Entry | undefined, values: FormValues, call: Call | undefined): Schema;
  /** Adapts the fields to the workspace. */
  customizeFields?(fields: Field[], values: FormValues, call: Call): Promise<Field[]>;
  find(call: Call, subject: string): Promise<Entry | undefined>;
  buildValues(entry: Entry | undefined, call: Call): FormValues | Promise<FormValues>;
  intro?(entry: Entry | undefined, call: Call): readonly KnownBlock[] | Promise<readonly KnownBlock[]>;
  /** Shown if the entry was deleted while the form was open. */
  readonly notFoundErrors: FieldErrors;
  /** Saves a new entry or replaces the existing one. Checks permissions again. */
  save(call: Submission, values: z.output<Schema>, entry: Entry | undefined): Promise<Outcome>;
}

export function createListForm<
  const Name extends string,
  Call,
  Submission extends Call & { readonly values: FormValues; readonly origin: FormOrigin },
  Entry,
  Schema extends z.ZodObject,
  Outcome,
>({ form, ...list }: EditableList<Name, Call, Submission, Entry, Schema, Outcome>) {
  const findEntry = async (call: Call, { subject }: FormOrigin) =>
    subject === undefined ? undefined : list.find(call, subject);
  return {
    form: { fields: toFields(list.createSchema(undefined, {}, undefined)), ...form },
    async render(call: Call, origin: FormOrigin, enteredValues: FormValues) {
      const entry = await findEntry(call, origin);
      const values = { ...(await list.buildValues(entry, call)), ...enteredValues };
      const fields = toFields(list.createSchema(entry, values, call));
      const intro = (await list.intro?.(entry, call)) ?? [];
      return {
        form: { ...form, fields: (await list.customizeFields?.(fields, values, call)) ?? fields },
        values,
        intro,
      };
    },
    async submit(call: Submission): Promise<Outcome | { readonly errors: FieldErrors }> {
      const entry = await findEntry(call, call.origin);
      if (call.origin.subject !== undefined && entry === undefined) return { errors: list.notFoundErrors };
      const result = parseForm(list.createSchema(entry, call.values, call), call.values);
      return 'errors' in result ? result : list.save(call, result.value, entry);
    },
  };
}
