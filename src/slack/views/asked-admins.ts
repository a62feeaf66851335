import { code, mention } from './blocks.ts';

/** The admins who were asked for a confirmation, and those who could not be reached. */
export interface AskedAdmins {
  readonly asked: readonly string[];
  readonly missed: readonly string[];
}

/** Says who was asked to confirm, and what to do where nobody was. @param command shows the button, too */
export function askedText({ asked, missed }: AskedAdmins, command: string): string {
  if (asked.length === 0 && missed.length === 0)
    return `:warning: *I know of no other admin to ask*: nobody confirms alone what they asked for. A workspace admin or owner can type ${code(command)} and press Confirm. If you are the only one, have somebody made an admin of the workspace, or add their id to \`ADMINS\` where I run.`;
  return [
    ...(asked.length === 0 ? [] : [`I have asked ${asked.map(mention).join(', ')}.`]),
    ...(missed.length === 0
      ? []
      : [
          `I could not write to ${missed.map(mention).join(', ')}: ask them to type ${code(command)} and press Confirm.`,
        ]),
  ].join(' ');
}
