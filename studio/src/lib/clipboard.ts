/** The clipboard, which browsers offer only to pages of https and of this machine. */

/** Copies a text and tells whether that worked. To be called in a user's gesture. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // A service in the local network has plain http: the old way works there.
    const field = document.createElement("textarea");
    field.className = "visually-hidden";
    field.value = text;
    document.body.append(field);
    field.select();
    const isDone = document.execCommand("copy");
    field.remove();
    return isDone;
  }
}
