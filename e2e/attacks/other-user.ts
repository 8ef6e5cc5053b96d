export async function otherUser(..._args: unknown[]) {}
