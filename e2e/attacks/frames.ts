export async function frames(..._args: unknown[]) {}
