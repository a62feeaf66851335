import { code, mention } from '../kit/blocks.ts';

/** Says who is asked to confirm, and what to do where nobody is. @param command shows the button, too */
export function askedText(asked: readonly string[], command: string): string {
  return asked.length === 0
    ? `:warning: *I know of no other admin to ask*: nobody confirms alone what they asked for. A workspace admin or owner can type ${code(command)} and press Confirm. If you are the only one, have somebody made an admin of the workspace, or add their id to \`ADMINS\` where I run.`
    : `I have asked ${asked.map(mention).join(', ')}.`;
}
