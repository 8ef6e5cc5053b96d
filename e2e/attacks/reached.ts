export async function reached(..._args: unknown[]) {}
