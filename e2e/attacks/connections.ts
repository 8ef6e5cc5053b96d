export async function connections(..._args: unknown[]) {}
